// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.trace.ring;

import com.fasterxml.jackson.core.JsonGenerator;
import io.torchfeed.internal.Failures;
import io.torchfeed.internal.FileReplacement;
import io.torchfeed.internal.JsonObject;
import io.torchfeed.internal.RankVariables;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.UUID;

/** Writes dumps of a recorder; each replaces the one before. Thread-safe. */
final class DumpWriter {
  private static final Path BOOT = Path.of("/proc/sys/kernel/random/boot_id");
  private static final int MAX_HOST = 64;

  private final Recorder recorder;
  private final Path file;
  private final String host = host();
  private final String clock = clock();

  DumpWriter(Recorder recorder, Path folder) {
    this.recorder = recorder;
    String started = Long.toString(System.currentTimeMillis(), Character.MAX_RADIX);
    String safe = host.replaceAll("[^A-Za-z0-9._-]", "_");
    file =
        folder.resolve(
            "trace-%s-%d-%s%s"
                .formatted(safe, ProcessHandle.current().pid(), started, DumpFormat.EXTENSION));
  }

  private static String host() {
    try {
      String name = InetAddress.getLocalHost().getHostName();
      return name.length() <= MAX_HOST ? name : name.substring(0, MAX_HOST);
    } catch (UnknownHostException e) {
      return "localhost"; // a machine without a name
    }
  }

  /** Returns a name of the clock of {@link System#nanoTime}: all processes of a boot share it. */
  private static String clock() {
    try {
      return Files.readString(BOOT).strip();
    } catch (IOException e) {
      return UUID.randomUUID().toString(); // another system: a clock of its own
    }
  }

  synchronized Path write(String reason) {
    List<GroupSpan> open =
        recorder.open(); // before the events: a call that ends meanwhile is in both
    long[] events = recorder.ring().copy();
    try {
      byte[] header = DumpFormat.utf8(header(reason, open, events.length / Event.FIELDS));
      FileReplacement.write(file, channel -> DumpFormat.write(channel, header, events));
      return file;
    } catch (IOException e) {
      throw new UncheckedIOException(
          "the dump %s cannot be written: %s".formatted(file, Failures.reason(e)), e);
    }
  }

  private String header(String reason, List<GroupSpan> open, int events) throws IOException {
    StringWriter text = new StringWriter();
    try (JsonGenerator out = JsonObject.FACTORY.createGenerator(text)) {
      out.writeStartObject();
      out.writeNumberField("version", DumpFormat.VERSION);
      out.writeStringField("reason", reason);
      out.writeStringField("job", System.getenv().getOrDefault(RankVariables.JOB, ""));
      out.writeStringField("host", host);
      out.writeNumberField("pid", ProcessHandle.current().pid());
      out.writeStringField("clock", clock);
      out.writeNumberField("nanos", System.nanoTime());
      out.writeStringField("time", Instant.now().toString());
      out.writeNumberField("forgotten", recorder.ring().total() - events);
      out.writeArrayFieldStart("names");
      for (String name : recorder.names()) {
        out.writeString(name);
      }
      out.writeEndArray();
      writeGroups(out);
      writeLanes(out);
      writeOpen(out, open);
      writeFailures(out);
      out.writeEndObject();
    }
    return text.toString();
  }

  private void writeGroups(JsonGenerator out) throws IOException {
    out.writeArrayFieldStart("groups");
    for (GroupLog group : recorder.groups()) {
      out.writeStartObject();
      out.writeStringField("key", group.key());
      out.writeNumberField("rank", group.rank());
      out.writeNumberField("ranks", group.ranks());
      out.writeBooleanField("isPart", group.isPart());
      out.writeEndObject();
    }
    out.writeEndArray();
  }

  private void writeLanes(JsonGenerator out) throws IOException {
    out.writeArrayFieldStart("threads");
    for (Lane lane : recorder.lanes()) {
      Thread thread = lane.isRank() ? lane.thread() : null;
      List<String> stack = thread == null ? List.of() : CallSites.stack(thread);
      out.writeStartObject();
      out.writeStringField("name", lane.name());
      out.writeStringField("site", CallSites.in(stack));
      out.writeStringField("at", stack.isEmpty() ? "" : stack.get(0));
      out.writeEndObject();
    }
    out.writeEndArray();
  }

  private void writeOpen(JsonGenerator out, List<GroupSpan> open) throws IOException {
    out.writeArrayFieldStart("open");
    Set<GroupSpan> seen = new HashSet<>();
    for (GroupSpan span : open) {
      if (seen.add(span)) {
        Thread thread = span.lane().thread();
        String site = thread == null ? "" : CallSites.in(CallSites.stack(thread));
        writeCall(out, span, site, "");
      }
    }
    out.writeEndArray();
  }

  private void writeFailures(JsonGenerator out) throws IOException {
    out.writeArrayFieldStart("failed");
    for (FailedCalls.FailedCall call : recorder.failures().all()) {
      writeCall(out, call.span(), call.site(), call.reason());
    }
    out.writeEndArray();
  }

  private void writeCall(JsonGenerator out, GroupSpan span, String site, String reason)
      throws IOException {
    out.writeStartObject();
    out.writeNumberField("group", span.group().index(recorder));
    out.writeStringField("operation", span.operation());
    out.writeStringField("kind", span.kind().name().toLowerCase(Locale.ROOT));
    out.writeNumberField("number", span.number());
    out.writeNumberField("step", span.step());
    out.writeNumberField("start", span.start());
    out.writeNumberField("thread", span.lane().index());
    out.writeStringField("site", site);
    out.writeStringField("reason", reason);
    out.writeEndObject();
  }
}
