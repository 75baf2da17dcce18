// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import static java.util.Objects.requireNonNull;

import com.fasterxml.jackson.core.JsonGenerator;
import io.torchfeed.checkpoint.Checkpoint.Metric;
import io.torchfeed.checkpoint.Manifest.SavedFile;
import io.torchfeed.checkpoint.Manifest.SavedPart;
import io.torchfeed.internal.JsonObject;
import java.io.IOException;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The manifest of a checkpoint that several ranks have written, each with a manifest of its own.
 */
final class ShardedManifest {
  private ShardedManifest() {}

  /** Returns the manifest of a checkpoint that one process has written. */
  static Manifest ofOne(
      long step, Map<String, SavedPart> written, Set<String> own, @Nullable Metric metric) {
    Map<String, SavedPart> parts = new LinkedHashMap<>(written);
    Map<String, List<SavedPart>> ofEach = new LinkedHashMap<>();
    own.forEach(name -> ofEach.put(name, List.of(requireNonNull(parts.remove(name)))));
    return new Manifest(step, 1, parts, ofEach, metric);
  }

  /**
   * Joins the manifests of the ranks, and writes an index for each part with several files.
   *
   * @param all of each rank, by rank
   * @param own the names of the parts that differ between the ranks
   * @param layout of the state, the same on all ranks
   * @param metric of the state; null if it has none
   * @throws IOException if tensors are missing, or an index cannot be written
   */
  static Manifest of(
      long step,
      List<Manifest> all,
      Set<String> own,
      ShardLayout layout,
      @Nullable Metric metric,
      StepFolder files)
      throws IOException {
    Manifest first = all.get(0);
    Map<String, SavedPart> parts = new LinkedHashMap<>();
    Map<String, List<SavedPart>> ofEach = new LinkedHashMap<>();
    for (String name : first.parts().keySet()) {
      List<SavedPart> ofRanks =
          all.stream().map(each -> requireNonNull(each.parts().get(name))).toList();
      if (own.contains(name)) {
        ofEach.put(name, ofRanks);
      } else {
        List<SavedFile> shards = ofRanks.stream().flatMap(each -> each.files().stream()).toList();
        Map<String, String> places = places(shards, files);
        if (places.size() != layout.tensors(name)) {
          throw new IOException(
              "the files of the part %s must have %d tensors, got %d"
                  .formatted(name, layout.tensors(name), places.size()));
        }
        parts.put(name, new SavedPart(ofRanks.get(0).json(), shards, places.size()));
        if (shards.size() > 1) {
          files.writeBytes(Manifest.fileName(name) + ".index.json", index(shards, places));
        }
      }
    }
    return new Manifest(step, all.size(), parts, ofEach, metric);
  }

  /** Returns the file of each tensor. */
  private static Map<String, String> places(List<SavedFile> shards, StepFolder files) {
    Map<String, String> places = new TreeMap<>();
    for (SavedFile shard : shards) {
      try (SafetensorsFile file = SafetensorsFile.open(files.path().resolve(shard.name()))) {
        file.names().forEach(name -> places.put(name, shard.name()));
      }
    }
    return places;
  }

  /** Returns the index by which Hugging Face's readers find the tensors. */
  private static byte[] index(List<SavedFile> shards, Map<String, String> places)
      throws IOException {
    long bytes = shards.stream().mapToLong(SavedFile::bytes).sum();
    StringWriter text = new StringWriter();
    try (JsonGenerator out = JsonObject.FACTORY.createGenerator(text)) {
      out.writeStartObject();
      out.writeObjectFieldStart("metadata");
      out.writeNumberField("total_size", bytes);
      out.writeEndObject();
      out.writeObjectFieldStart("weight_map");
      for (Map.Entry<String, String> place : places.entrySet()) {
        out.writeStringField(place.getKey(), place.getValue());
      }
      out.writeEndObject();
      out.writeEndObject();
    }
    return text.append('\n').toString().getBytes(StandardCharsets.UTF_8);
  }
}
