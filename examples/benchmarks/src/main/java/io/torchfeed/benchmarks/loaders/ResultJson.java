// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks.loaders;

import com.fasterxml.jackson.core.JsonEncoding;
import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** The results as JSON, with every turn. */
final class ResultJson {
  private ResultJson() {}

  /**
   * Writes the file.
   *
   * @param command the command that produced the results
   * @param machine processor, cores, system and JDK
   * @param load the machine's load before each row and at the end
   */
  static void write(
      Path file,
      String command,
      String machine,
      List<Double> load,
      List<Results> all,
      List<StepTime> steps,
      List<Bar> bars)
      throws IOException {
    try (JsonGenerator json = new JsonFactory().createGenerator(file.toFile(), JsonEncoding.UTF8)) {
      json.useDefaultPrettyPrinter();
      json.writeStartObject();
      json.writeStringField("command", command);
      json.writeStringField("machine", machine);
      array(json, "load", load.stream().mapToDouble(Double::doubleValue).toArray());
      json.writeArrayFieldStart("rows");
      for (Results each : all) {
        row(json, each);
      }
      json.writeEndArray();
      json.writeArrayFieldStart("steps");
      for (StepTime step : steps) {
        json.writeStartObject();
        json.writeStringField("engine", step.engine());
        json.writeNumberField("computeOverLoad", step.computeOverLoad());
        spread(json, "loadNanosABatch", step.loadNanos());
        spread(json, "stepOverLarger", step.ofLarger());
        json.writeEndObject();
      }
      json.writeEndArray();
      json.writeArrayFieldStart("wanted");
      for (Bar bar : bars) {
        json.writeStartObject();
        json.writeStringField("what", bar.text());
        json.writeNumberField(bar.atMost() ? "atMost" : "atLeast", bar.wanted());
        spread(json, "seen", bar.seen());
        json.writeBooleanField("met", bar.met());
        json.writeEndObject();
      }
      json.writeEndArray();
      json.writeEndObject();
    }
  }

  private static void row(JsonGenerator json, Results results) throws IOException {
    json.writeStartObject();
    json.writeStringField("row", results.row().name());
    json.writeStringField("title", results.row().title());
    json.writeObjectFieldStart("leftOut");
    for (var each : results.missing().entrySet()) {
      json.writeStringField(each.getKey(), each.getValue());
    }
    json.writeEndObject();
    json.writeArrayFieldStart("entries");
    Optional<Entry> ours = results.ours();
    for (Entry entry : results.entries()) {
      json.writeStartObject();
      json.writeStringField("contestant", entry.contestant());
      json.writeNumberField("workers", entry.workers());
      json.writeNumberField("operationThreads", entry.setting().operationThreads());
      spread(json, "samplesASecond", results.rate(entry));
      spread(json, "ofLimit", results.ofLimit(entry));
      if (ours.isPresent()) {
        spread(json, "torchfeedIsTimes", results.times(ours.get(), entry));
      }
      Optional<Double> heap = results.heapBytes(entry);
      if (heap.isPresent()) {
        json.writeNumberField("heapBytesABatch", Math.round(heap.get()));
      }
      array(json, "turns", results.turns(entry));
      json.writeEndObject();
    }
    json.writeEndArray();
    json.writeArrayFieldStart("inTurn"); // without workers, with one, and so on
    for (var each : results.epochsInTurn().entrySet()) {
      json.writeStartObject();
      json.writeStringField("contestant", each.getKey());
      json.writeArrayFieldStart("nanosAnEpoch");
      for (double[] nanos : each.getValue()) {
        json.writeArray(nanos, 0, nanos.length);
      }
      json.writeEndArray();
      json.writeEndObject();
    }
    json.writeEndArray();
    json.writeEndObject();
  }

  private static void array(JsonGenerator json, String name, double... values) throws IOException {
    json.writeFieldName(name);
    json.writeArray(values, 0, values.length);
  }

  private static void spread(JsonGenerator json, String name, Spread spread) throws IOException {
    array(json, name, spread.median(), spread.lowest(), spread.highest());
  }
}
