// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.data.loader.DataLoaderBuilder;
import io.torchfeed.testing.FakeDevice;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.function.Function;

/** A pass during which allocations fail. {@code FullHeapTest} loads it with such classes. */
public final class FullHeapPass implements Function<String, String> {
  private static final int BATCHES = 8;
  private static final int BATCH = 2;

  /** The calls that may be needed: more means that the pass does not end. */
  private static final int MAX_CALLS = 200;

  /** Creates a reader of passes. */
  public FullHeapPass() {}

  private static DataLoaderBuilder over(List<String> words, RowData data) {
    DataLoaderBuilder loader = data.over();
    for (String word : words) {
      switch (word) {
        case "device" -> loader.device(FakeDevice.NAME);
        case "unordered" -> loader.inOrder(false);
        case "gathered" -> loader.onFailure(FailurePolicy.report());
        case "step" -> loader.afterTransfer(Batch.Step.of((all, random) -> all));
        default -> {}
      }
    }
    return loader.batchSize(BATCH).workers(Integer.parseInt(words.get(1)));
  }

  /**
   * Reads a pass.
   *
   * @param kind "tensors", "samples" or "stream", the number of workers, and other words
   * @return "" if each batch came once or failed with an exception of the library that names it;
   *     otherwise a description of the defect
   */
  @Override
  public String apply(String kind) {
    List<String> words = List.of(kind.split(" "));
    if (words.get(0).equals("stream")) {
      Counters stream = Counters.of(BATCH * BATCHES / 2, BATCH * BATCHES / 2);
      return read(
          DataLoader.over(stream).batchSize(BATCH).workers(Integer.parseInt(words.get(1))), true);
    }
    int rows = BATCH * BATCHES;
    try (RowData data =
        words.get(0).equals("tensors") ? RowData.tensors(rows) : RowData.samples(rows)) {
      return read(over(words, data), false);
    }
  }

  /** Receives true when the pass has begun, and false when it has ended. */
  static volatile Consumer<Boolean> phase = begun -> {};

  /** Sets the receiver of the begin and the end of the pass. */
  public static void onPhase(Consumer<Boolean> next) {
    phase = next;
  }

  private static String read(DataLoaderBuilder builder, boolean isStream) {
    try (DataLoader loader = builder.build()) {
      String outcome;
      try (Batches batches = loader.epoch(0)) {
        phase.accept(true);
        try {
          outcome = read(batches, isStream);
        } finally {
          phase.accept(false);
        }
      }
      return outcome;
    }
  }

  private static String read(Batches batches, boolean isStream) {
    Set<Long> seen = new TreeSet<>();
    List<Throwable> failures = new ArrayList<>();
    List<OutOfMemoryError> errors = new ArrayList<>();
    int calls = 0;
    while (calls < MAX_CALLS) {
      calls++;
      try {
        if (!batches.hasNext()) {
          break;
        }
        for (long sample : batches.next().indices()) {
          if (!seen.add(sample)) {
            return "sample " + sample + " came twice";
          }
        }
      } catch (OutOfMemoryError e) {
        errors.add(e);
      } catch (SampleException | LoaderWorkerException | IllegalStateException e) {
        failures.add(e);
      }
    }
    if (calls == MAX_CALLS) {
      return "the pass does not end after samples " + seen + ", " + last(failures, errors);
    }
    if (isStream) { // a stream that cannot continue ends
      boolean isToldOf = seen.size() == BATCH * BATCHES || !failures.isEmpty();
      return isToldOf ? "" : "samples were lost without a word, " + last(failures, errors);
    }
    for (long batch = 0; batch < BATCHES; batch++) {
      if (!seen.contains(BATCH * batch) && !isNamed("batch " + batch, failures)) {
        return "batch " + batch + " was lost without a word, " + last(failures, errors);
      }
    }
    return seen.size() >= BATCH * (BATCHES - failures.size())
        ? ""
        : "one failure cost several batches: " + last(failures, errors);
  }

  private static String last(List<Throwable> failures, List<OutOfMemoryError> errors) {
    return failures.size()
        + " failures, "
        + errors.size()
        + " errors: "
        + (failures.isEmpty() ? errors : failures.get(failures.size() - 1));
  }

  private static boolean isNamed(String batch, List<Throwable> failures) {
    return failures.stream().anyMatch(e -> String.valueOf(e.getMessage()).contains(batch));
  }
}
