// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import com.fasterxml.jackson.core.JsonGenerator;
import io.torchfeed.checkpoint.Checkpoint.Metric;
import io.torchfeed.internal.BlockSums.Kind;
import io.torchfeed.internal.JsonObject;
import io.torchfeed.internal.Quotes;
import io.torchfeed.sampler.Part;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The description of a checkpoint: {@code manifest.json} in its folder.
 *
 * @param step number of the step after which it was taken
 * @param ranks the number of ranks that have written it
 * @param parts the parts that are the same on all ranks, by name
 * @param own the other parts by name: one for each rank
 * @param metric of the state; null if it has none
 */
record Manifest(
    long step,
    int ranks,
    Map<String, SavedPart> parts,
    Map<String, List<SavedPart>> own,
    @Nullable Metric metric) {
  /**
   * Files have a CRC-32C of each block, or one SHA-256, as in the versions before: 1 of one process
   * and 2 of several ranks, with {@code ranks}, {@code own} and parts in several files.
   */
  private static final int VERSION = 3;

  private static final String VERSION_FIELD = "version";
  private static final String SHA256 = "sha256";
  private static final String CRC32C = "crc32c";
  private static final String FILE_END = "(-\\d{5,}-of-\\d{5,}|\\.rank-\\d{5,}-of-\\d{5,})?";
  private static final String EXTENSION = ".safetensors";
  private static final String LOSS = "loss";
  private static final String SCORE = "score";

  /** The number of tensors of a part whose manifest does not tell it. */
  static final long UNKNOWN = -1;

  /**
   * A part.
   *
   * @param json its state except the tensors
   * @param files its tensors
   * @param tensors how many there are in all files, or {@link #UNKNOWN}
   */
  record SavedPart(String json, List<SavedFile> files, long tensors) {}

  /**
   * A file beside the manifest.
   *
   * @param name its name
   * @param bytes its size
   * @param kind how it is digested
   * @param sums the digest of each of its blocks
   */
  record SavedFile(String name, long bytes, Kind kind, List<String> sums) {}

  /** Requires that the state of a part can be written as a part of the description. */
  static void requireJson(String name, String json) {
    JsonObject.parse("state of the part " + name, json);
  }

  /** Returns the name of the file with all tensors of a part. */
  static String fileName(String part) {
    return part + EXTENSION;
  }

  /** Returns the name of one of several files with the tensors of a part, from 0 on. */
  static String shardName(String part, int shard, int shards) {
    return fileName(String.format(Locale.ROOT, "%s-%05d-of-%05d", part, shard + 1, shards));
  }

  /** Returns the name of the file with the tensors of a rank's own part. */
  static String ownName(String part, int rank, int ranks) {
    return fileName(String.format(Locale.ROOT, "%s.rank-%05d-of-%05d", part, rank + 1, ranks));
  }

  /** Returns the names of all parts. */
  List<String> names() {
    List<String> names = new ArrayList<>(parts.keySet());
    names.addAll(own.keySet());
    return names;
  }

  /**
   * Returns the manifest of some of the parts that are the same on all ranks.
   *
   * @throws IllegalArgumentException if one of them is missing
   */
  Manifest only(Set<String> names) {
    Map<String, SavedPart> chosen = new LinkedHashMap<>(parts);
    chosen.keySet().retainAll(names);
    if (!chosen.keySet().containsAll(names)) {
      throw new IllegalArgumentException(
          "the parts must be some of %s, got %s".formatted(parts.keySet(), names));
    }
    return new Manifest(step, ranks, chosen, Map.of(), metric);
  }

  /** Returns the parts that a rank loads: its own only if as many ranks have written it. */
  Map<String, SavedPart> of(Part rank) {
    Map<String, SavedPart> all = new LinkedHashMap<>(parts);
    if (rank.worldSize() == ranks) {
      own.forEach((name, ofRanks) -> all.put(name, ofRanks.get(rank.rank())));
    }
    return all;
  }

  /**
   * Parses a manifest.
   *
   * @throws IllegalArgumentException if it is malformed
   */
  static Manifest parse(String text) {
    JsonObject json = JsonObject.parse("manifest", text);
    boolean isOfRanks = json.has("ranks");
    json.only(VERSION_FIELD, "step", "parts", "ranks", "own", "metric");
    if (!isKnown(json.number(VERSION_FIELD))) {
      json.requireVersion(VERSION);
    }
    Map<String, SavedPart> parts = new LinkedHashMap<>();
    JsonObject all = json.object("parts");
    for (String name : all.names()) {
      parts.put(name, part(name, all.object(name)));
    }
    Map<String, List<SavedPart>> own = new LinkedHashMap<>();
    int ranks = isOfRanks ? json.integer("ranks") : 1;
    if (isOfRanks) {
      JsonObject each = json.object("own");
      for (String name : each.names()) {
        List<SavedPart> ofRanks = each.objects(name).stream().map(one -> part(name, one)).toList();
        if (ofRanks.size() != ranks) {
          throw new IllegalArgumentException(
              "the part %s must be there for %d ranks, got %d"
                  .formatted(Quotes.shortened(name), ranks, ofRanks.size()));
        }
        own.put(name, ofRanks);
      }
    }
    Metric metric = json.has("metric") ? metric(json.object("metric")) : null;
    return new Manifest(json.number("step"), ranks, parts, own, metric);
  }

  /**
   * Checks that the parts in several files have each of them, in order.
   *
   * @throws IllegalArgumentException if not
   */
  void requireAllFiles() {
    parts.forEach(
        (part, saved) -> {
          int count = saved.files().size();
          for (int i = 0; i < count; i++) {
            String expected = count == 1 ? fileName(part) : shardName(part, i, count);
            if (!saved.files().get(i).name().equals(expected)) {
              throw new IllegalArgumentException(
                  "the part %s is incomplete: file %d of %d must be %s, got %s"
                      .formatted(part, i + 1, count, expected, saved.files().get(i).name()));
            }
          }
        });
  }

  /** Returns whether a text is a manifest that another version of torchfeed has written. */
  static boolean isOfOtherVersion(String text) {
    try {
      return !isKnown(JsonObject.parse("manifest", text).number(VERSION_FIELD));
    } catch (IllegalArgumentException e) {
      return false;
    }
  }

  private static boolean isKnown(long version) {
    return version >= 1 && version <= VERSION;
  }

  private static Metric metric(JsonObject json) {
    json.only("kind", "value");
    String kind = json.text("kind");
    if (!kind.equals(LOSS) && !kind.equals(SCORE)) {
      throw new IllegalArgumentException(
          "the kind of a metric must be %s or %s, got %s"
              .formatted(LOSS, SCORE, Quotes.shortened(kind)));
    }
    return new Metric(Double.parseDouble(json.text("value")), kind.equals(LOSS));
  }

  private static SavedPart part(String name, JsonObject part) {
    part.only("state", "file", "files", "tensors");
    List<JsonObject> files = part.has("files") ? part.objects("files") : List.of();
    if (part.has("file")) {
      files = List.of(part.object("file"));
    }
    List<SavedFile> saved = files.stream().map(file -> file(name, file)).toList();
    long tensors = part.has("tensors") ? part.number("tensors") : UNKNOWN;
    return new SavedPart(part.object("state").toString(), saved, tensors);
  }

  private static SavedFile file(String part, JsonObject file) {
    file.only("name", "bytes", SHA256, CRC32C);
    String name = file.text("name");
    if (!name.matches(Pattern.quote(part) + FILE_END + Pattern.quote(EXTENSION))) {
      throw new IllegalArgumentException(
          "the file of the part %s must be named %s, got %s"
              .formatted(Quotes.shortened(part), fileName(part), Quotes.shortened(name)));
    }
    long bytes = file.number("bytes");
    if (bytes < 0) {
      throw new IllegalArgumentException(
          "the file %s must have at least 0 bytes, got %d".formatted(name, bytes));
    }
    if (file.has(SHA256) && file.has(CRC32C)) {
      throw new IllegalArgumentException(
          "the file %s must have one of %s and %s, got both".formatted(name, SHA256, CRC32C));
    }
    return file.has(SHA256)
        ? saved(name, bytes, Kind.SHA256, List.of(file.text(SHA256)))
        : saved(name, bytes, Kind.CRC32C, List.copyOf(file.texts(CRC32C)));
  }

  private static SavedFile saved(String name, long bytes, Kind kind, List<String> sums) {
    if (sums.size() != kind.blocks(bytes)) {
      throw new IllegalArgumentException(
          "the file %s of %d bytes must have %d digests, got %d"
              .formatted(name, bytes, kind.blocks(bytes), sums.size()));
    }
    for (String sum : sums) {
      if (!kind.isDigest(sum)) {
        throw new IllegalArgumentException(
            "a digest of the file %s must have %d hexadecimal digits in lower case, got %s"
                .formatted(name, kind.digits(), Quotes.shortened(sum)));
      }
    }
    return new SavedFile(name, bytes, kind, sums);
  }

  String toJson() {
    StringWriter text = new StringWriter();
    boolean isOfRanks = ranks > 1 || !own.isEmpty();
    try (JsonGenerator out = JsonObject.FACTORY.createGenerator(text)) {
      out.writeStartObject();
      out.writeNumberField(VERSION_FIELD, VERSION);
      out.writeNumberField("step", step);
      if (isOfRanks) {
        out.writeNumberField("ranks", ranks);
      }
      if (metric != null) {
        out.writeObjectFieldStart("metric");
        out.writeStringField("kind", metric.isLoss() ? LOSS : SCORE);
        out.writeStringField("value", Double.toString(metric.value())); // may be infinite, or NaN
        out.writeEndObject();
      }
      out.writeObjectFieldStart("parts");
      for (Map.Entry<String, SavedPart> part : parts.entrySet()) {
        out.writeFieldName(part.getKey());
        write(part.getValue(), out);
      }
      out.writeEndObject();
      if (isOfRanks) {
        out.writeObjectFieldStart("own");
        for (Map.Entry<String, List<SavedPart>> part : own.entrySet()) {
          out.writeArrayFieldStart(part.getKey());
          for (SavedPart each : part.getValue()) {
            write(each, out);
          }
          out.writeEndArray();
        }
        out.writeEndObject();
      }
      out.writeEndObject();
    } catch (IOException e) {
      throw new UncheckedIOException(e); // a string takes anything
    }
    return text.append('\n').toString();
  }

  private static void write(SavedPart part, JsonGenerator out) throws IOException {
    out.writeStartObject();
    out.writeFieldName("state");
    out.writeRawValue(part.json());
    if (part.files().size() == 1) {
      out.writeFieldName("file");
      write(part.files().get(0), out);
    } else if (!part.files().isEmpty()) {
      out.writeArrayFieldStart("files");
      for (SavedFile file : part.files()) {
        write(file, out);
      }
      out.writeEndArray();
      out.writeNumberField("tensors", part.tensors());
    }
    out.writeEndObject();
  }

  private static void write(SavedFile file, JsonGenerator out) throws IOException {
    out.writeStartObject();
    out.writeStringField("name", file.name());
    out.writeNumberField("bytes", file.bytes());
    if (file.kind() == Kind.SHA256) {
      out.writeStringField(SHA256, file.sums().get(0));
    } else {
      out.writeFieldName(CRC32C);
      String[] sums = file.sums().toArray(String[]::new);
      out.writeArray(sums, 0, sums.length);
    }
    out.writeEndObject();
  }
}
