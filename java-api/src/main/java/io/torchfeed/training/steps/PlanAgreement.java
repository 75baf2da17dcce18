// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.training.steps;

import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.sampler.RankConsistency.AllGather;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.LongStream;

/**
 * The comparison of the ranks' plans in a generation: a rank that differs from rank 0, which has
 * come furthest, fails with the difference, and the others continue without it.
 */
public final class PlanAgreement {
  /** Another rank than this one differs from rank 0: it leaves, and so ends this generation. */
  public static final class OthersDifferException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    OthersDifferException(String message) {
      super(message);
    }
  }

  /**
   * This rank differs from rank 0, or all have the wrong parts; also if the generation ends for it.
   */
  public static final class ThisDiffersException extends IllegalStateException {
    private static final long serialVersionUID = 1L;

    ThisDiffersException(String message) {
      super(message);
    }
  }

  private static final String MIN_DELTA = "minDelta of the evaluation";
  private static final List<String> OPTIONS =
      List.of(
          "epochs",
          "accumulate",
          "seed",
          "maxSteps",
          "maxTime in ms",
          "skipNonFinite",
          "steps from evaluation to evaluation",
          "whether a lower metric is better",
          "patience of the evaluation",
          MIN_DELTA);

  private PlanAgreement() {}

  /** Returns numbers, and behind them the options that all ranks share. */
  public static long[] withOptions(long[] numbers, long[] options) {
    return LongStream.concat(Arrays.stream(numbers), Arrays.stream(options)).toArray();
  }

  /**
   * Throws if a rank has other options than rank 0.
   *
   * @param all the options of each rank, the last columns
   */
  public static void requireSameOptions(long[][] all, Peers peers) {
    int first = all[0].length - OPTIONS.size();
    for (int option = 0; option < OPTIONS.size(); option++) {
      int column = first + option;
      for (int other = 1; other < all.length; other++) {
        if (all[other][column] != all[0][column]) {
          String text =
              "the options of the ranks differ in %s: rank 0 has %s, rank %d has %s"
                  .formatted(
                      OPTIONS.get(option),
                      text(option, all[0][column]),
                      other,
                      text(option, all[other][column]));
          throw together(text, all[peers.part().rank()][column] == all[0][column], peers);
        }
      }
    }
  }

  private static String text(int option, long value) {
    return OPTIONS.get(option).equals(MIN_DELTA)
        ? Double.toString(Double.longBitsToDouble(value))
        : Long.toString(value);
  }

  /**
   * Throws on every rank if one has loaded another checkpoint than rank 0.
   *
   * @param steps the steps of each rank after loading, in a column
   */
  public static void requireSameStart(long[][] all, int steps) {
    for (int rank = 1; rank < all.length; rank++) {
      if (all[rank][steps] != all[0][steps]) {
        throw new IllegalStateException(
            "the ranks have loaded different checkpoints: rank 0 one after %d steps, rank %d one"
                .concat(" after %d; all ranks must reach the same folder")
                .formatted(all[0][steps], rank, all[rank][steps]));
      }
    }
  }

  /** Throws if a rank has other data than rank 0, or two ranks have the same part. */
  public static void requireSameData(DataLoader loader, long epoch, Peers peers) {
    List<long[][]> gathered = new ArrayList<>();
    AtomicInteger asked = new AtomicInteger();
    AllGather gather =
        mine -> {
          asked.incrementAndGet();
          long[][] all = peers.numbers().gather(mine);
          gathered.add(all);
          return all;
        };
    try {
      loader.verifyRanks(epoch, gather);
    } catch (IllegalStateException e) {
      if (gathered.isEmpty() || gathered.size() < asked.get()) {
        throw e; // of the group, which may have been aborted
      }
      boolean isOfOthers = isOfOthers(gathered.get(0), peers.part().rank());
      throw together(String.valueOf(e.getMessage()), isOfOthers, peers);
    }
  }

  /** Returns the failure of this rank, once all know the difference: none leaves before. */
  private static RuntimeException together(String text, boolean isOfOthers, Peers peers) {
    RuntimeException failure =
        isOfOthers ? new OthersDifferException(text) : new ThisDiffersException(text);
    try {
      peers.barrier().run();
    } catch (RuntimeException e) {
      failure.addSuppressed(e); // a rank has left meanwhile, but all had come here
    }
    return failure;
  }

  /** Returns whether other ranks differ from rank 0, and this one does not. */
  private static boolean isOfOthers(long[][] digests, int rank) {
    return digests[rank][0] == digests[0][0]
        && Arrays.stream(digests).anyMatch(each -> each[0] != digests[0][0]);
  }
}
