// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.trace.analysis;

import io.torchfeed.internal.Failures;
import io.torchfeed.internal.JsonObject;
import io.torchfeed.trace.ring.DumpFormat;
import io.torchfeed.trace.ring.Event;
import io.torchfeed.trace.ring.Kind;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.zip.CRC32C;

/** Reads dumps; refuses those that are damaged, cut off, or of another kind. */
final class DumpReader {
  private static final String REMOVE = "remove it from the folder";
  private static final String COPY = "copy it again, or remove it from the folder";
  private static final int KINDS = Kind.values().length;
  private static final int FRAME = Integer.BYTES + Long.BYTES; // length of the header, of events
  private static final long MAX_BYTES = 1L << 30;

  private DumpReader() {}

  /**
   * Reads a dump.
   *
   * @throws DumpException if it cannot be used
   */
  static Dump.Full read(Path file) {
    byte[] bytes = bytes(file);
    byte[] magic = DumpFormat.magic();
    if (bytes.length < magic.length
        || !Arrays.equals(bytes, 0, magic.length, magic, 0, magic.length)) {
      throw DumpException.of(file, "is no dump of a trace", REMOVE);
    }
    ByteBuffer in = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).position(magic.length);
    int end = bytes.length - Long.BYTES;
    int header = in.remaining() < FRAME + Long.BYTES ? -1 : in.getInt();
    if (header < 0 || header > end - in.position() - Long.BYTES) {
      throw cut(file);
    }
    String json = new String(bytes, in.position(), header, StandardCharsets.UTF_8);
    in.position(in.position() + header);
    long count = in.getLong();
    if (count < 0 || count * Event.FIELDS * Long.BYTES != end - in.position()) {
      throw cut(file);
    }
    CRC32C sum = new CRC32C();
    sum.update(bytes, 0, end);
    if (sum.getValue() != in.getLong(end)) {
      throw DumpException.of(file, "is damaged: its checksum is another one", COPY);
    }
    long[] events = new long[Math.toIntExact(count) * Event.FIELDS];
    for (int i = 0; i < events.length; i++) {
      events[i] = in.getLong();
    }
    Dump dump = header(file, json);
    requireIndices(dump, events);
    return new Dump.Full(dump, events);
  }

  private static DumpException cut(Path file) {
    return DumpException.of(file, "is cut off or has more than its length", COPY);
  }

  private static byte[] bytes(Path file) {
    try {
      if (Files.size(file) > MAX_BYTES) {
        throw DumpException.of(file, "is larger than any dump", REMOVE);
      }
      return Files.readAllBytes(file);
    } catch (IOException e) {
      String fault = "cannot be read: " + Failures.reason(e);
      throw DumpException.of(file, fault, "correct its permissions, or remove it", e);
    }
  }

  private static Dump header(Path file, String json) {
    try {
      JsonObject header = JsonObject.parse("dump", json);
      header.requireVersion(DumpFormat.VERSION);
      return new Dump(
          file,
          header.text("reason"),
          header.text("job"),
          header.text("host"),
          header.number("pid"),
          header.text("clock"),
          header.number("nanos"),
          header.number("forgotten"),
          header.texts("names"),
          header.objects("groups").stream().map(DumpReader::group).toList(),
          header.objects("threads").stream().map(DumpReader::lane).toList(),
          calls(header, "open"),
          calls(header, "failed"));
    } catch (IllegalArgumentException e) {
      throw DumpException.of(
          file,
          "has another header: " + e.getMessage(),
          "merge it with the version of torchfeed that has written it",
          e);
    }
  }

  private static Dump.Group group(JsonObject group) {
    return new Dump.Group(
        group.text("key"), group.integer("rank"), group.integer("ranks"), group.bool("isPart"));
  }

  private static Dump.Lane lane(JsonObject lane) {
    return new Dump.Lane(lane.text("name"), lane.text("site"), lane.text("at"));
  }

  private static List<Dump.Call> calls(JsonObject header, String name) {
    return header.objects(name).stream().map(DumpReader::call).toList();
  }

  private static Dump.Call call(JsonObject call) {
    return new Dump.Call(
        call.integer("group"),
        call.text("operation"),
        Kind.valueOf(call.text("kind").toUpperCase(Locale.ROOT)),
        call.number("number"),
        call.number("step"),
        call.number("start"),
        call.integer("thread"),
        call.text("site"),
        call.text("reason"));
  }

  /** A file with the right checksum may still be written by another program. */
  private static void requireIndices(Dump dump, long[] events) {
    boolean areThere = dump.groups().stream().allMatch(DumpReader::isPlausible);
    for (List<Dump.Call> calls : List.of(dump.open(), dump.failed())) {
      for (Dump.Call call : calls) {
        areThere &= isIndex(call.group(), dump.groups()) && call.thread() >= 0;
      }
    }
    for (int at = 0; at < events.length; at += Event.FIELDS) {
      long tag = events[at + Event.TAG];
      areThere &= isNoneOrIndex(Event.group(tag), dump.groups());
      areThere &= isNoneOrIndex(Event.name(tag), dump.names());
      areThere &= isNoneOrIndex(Event.lane(tag), dump.threads());
      areThere &= Event.kind(tag) < KINDS;
    }
    if (!areThere) {
      throw DumpException.of(
          dump.file(), "has events of groups, names or kinds that it does not list", REMOVE);
    }
  }

  private static boolean isPlausible(Dump.Group group) {
    return group.rank() >= 0 && group.rank() < group.ranks();
  }

  private static boolean isIndex(int index, List<?> all) {
    return index >= 0 && index < all.size();
  }

  private static boolean isNoneOrIndex(int index, List<?> all) {
    return index == Event.NONE || index < all.size();
  }
}
