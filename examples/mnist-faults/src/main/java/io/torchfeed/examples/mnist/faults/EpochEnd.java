// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist.faults;

import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/**
 * Tells when a rank has begun the last step of an epoch, which does not depend on the step alone.
 */
final class EpochEnd {
  /** The samples of a step, and the generation that has begun it last. */
  private record Used(int generation, long epoch, long samples) {}

  private final Job job;
  private final Map<Long, Long> usedBefore = new HashMap<>();
  private int generation;
  private long generationStart;

  EpochEnd(Job job) {
    this.job = job;
  }

  /** Returns whether the last step that a rank has begun is this one, and it has not done it. */
  static boolean isIn(RankHandle rank, RankLog.Begun step) {
    RankLog.Begun begun = rank.begun();
    RankLog.Done done = rank.done();
    return step.equals(begun)
        && (done == null || done.generation() != step.generation() || done.step() != step.step());
  }

  /** Returns the last step of an epoch, if the rank is in it. */
  Optional<RankLog.Begun> last(RankHandle rank) {
    RankLog.Begun begun = rank.begun();
    RankLog.Entered world = rank.entered();
    if (begun == null
        || world == null
        || begun.generation() != world.generation()
        || !isIn(rank, begun)) {
      return Optional.empty();
    }
    if (world.generation() != generation) {
      generation = world.generation();
      generationStart = world.step();
      count();
    }
    int globalBatch = job.training().plan().globalBatch();
    long samples = job.training().plan().samples();
    long before = usedBefore.getOrDefault(begun.epoch(), 0L);
    long since = before > 0 ? generationStart : firstOf(rank, begun.epoch());
    return samples - before - (begun.step() - since) * globalBatch <= globalBatch
        ? Optional.of(begun)
        : Optional.empty();
  }

  private long firstOf(RankHandle rank, long epoch) {
    return rank.log().all(RankLog.Begun.class).stream()
        .filter(each -> each.generation() == generation && each.epoch() == epoch)
        .mapToLong(RankLog.Begun::step)
        .min()
        .orElse(generationStart);
  }

  /** Counts the samples of each epoch that were used before the generation. */
  private void count() {
    Map<Long, Used> steps = new HashMap<>();
    for (RankHandle each : job.ranks()) {
      for (RankLog.Begun part : each.log().all(RankLog.Begun.class)) {
        if (part.step() < generationStart && part.generation() < generation) {
          steps.merge(
              part.step(),
              new Used(part.generation(), part.epoch(), part.indices().size()),
              EpochEnd::later);
        }
      }
    }
    usedBefore.clear();
    steps.values().forEach(each -> usedBefore.merge(each.epoch(), each.samples(), Long::sum));
  }

  private static Used later(Used one, Used other) {
    if (one.generation() == other.generation()) {
      return new Used(one.generation(), one.epoch(), one.samples() + other.samples());
    }
    return one.generation() > other.generation() ? one : other;
  }
}
