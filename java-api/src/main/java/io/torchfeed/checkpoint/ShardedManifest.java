// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import static java.util.Objects.requireNonNull;

import com.fasterxml.jackson.core.JsonGenerator;
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

/**
 * The manifest of a checkpoint that several ranks have written, each with a manifest of its own.
 */
final class ShardedManifest {
  private ShardedManifest() {}

  /** Returns the manifest of a checkpoint that one process has written. */
  static Manifest ofOne(long step, Map<String, SavedPart> written, Set<String> own) {
    Map<String, SavedPart> parts = new LinkedHashMap<>(written);
    Map<String, List<SavedPart>> ofEach = new LinkedHashMap<>();
    own.forEach(name -> ofEach.put(name, List.of(requireNonNull(parts.remove(name)))));
    return new Manifest(step, 1, parts, ofEach);
  }

  /**
   * Joins the manifests of the ranks, and writes an index for each part with several files.
   *
   * @param all of each rank, by rank
   * @param own the names of the parts that differ between the ranks
   * @throws IOException if the ranks have other parts, or an index cannot be written
   */
  static Manifest of(long step, List<Manifest> all, Set<String> own, StepFolder files)
      throws IOException {
    Manifest first = all.get(0);
    Map<String, SavedPart> parts = new LinkedHashMap<>();
    Map<String, List<SavedPart>> ofEach = new LinkedHashMap<>();
    for (int rank = 0; rank < all.size(); rank++) {
      if (!all.get(rank).parts().keySet().equals(first.parts().keySet())) {
        throw new IOException(
            "rank %d saves the parts %s, rank 0 %s"
                .formatted(rank, all.get(rank).parts().keySet(), first.parts().keySet()));
      }
    }
    for (String name : first.parts().keySet()) {
      List<SavedPart> ofRanks =
          all.stream().map(each -> requireNonNull(each.parts().get(name))).toList();
      if (own.contains(name)) {
        ofEach.put(name, ofRanks);
      } else {
        List<SavedFile> shards = ofRanks.stream().flatMap(each -> each.files().stream()).toList();
        parts.put(name, new SavedPart(ofRanks.get(0).json(), shards));
        if (shards.size() > 1) {
          files.writeBytes(Manifest.fileName(name) + ".index.json", index(shards, files));
        }
      }
    }
    return new Manifest(step, all.size(), parts, ofEach);
  }

  /** Returns the file by which Hugging Face's readers find the tensors. */
  private static byte[] index(List<SavedFile> shards, StepFolder files) throws IOException {
    Map<String, String> places = new TreeMap<>();
    long bytes = 0;
    for (SavedFile shard : shards) {
      try (SafetensorsFile file = SafetensorsFile.open(files.path().resolve(shard.name()))) {
        for (String name : file.names()) {
          places.put(name, shard.name());
        }
      }
      bytes += shard.bytes();
    }
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
