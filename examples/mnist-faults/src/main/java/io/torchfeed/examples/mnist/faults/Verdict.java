// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist.faults;

import io.torchfeed.distributed.membership.World;
import io.torchfeed.examples.mnist.faults.RankLog.Begun;
import io.torchfeed.examples.mnist.faults.RankLog.Done;
import io.torchfeed.examples.mnist.faults.RankLog.Ended;
import io.torchfeed.examples.mnist.faults.RankLog.Entered;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;

/**
 * The check of the logs of all ranks of a job that has been completed.
 *
 * <p>A step counts as completed in the last generation that has begun it, unless a later generation
 * starts before it. One that starts from a checkpoint undoes the steps after that by design.
 */
final class Verdict {
  /** A generation, as its ranks have logged it. */
  static final class Generation {
    final int number;
    final long start;
    final int size;
    final World.Origin origin;
    final long digest;

    /** The names of the ranks that entered it; empty for one that did not. */
    final String[] names;

    /** By step and rank. */
    final NavigableMap<Long, Map<Integer, Begun>> begun = new TreeMap<>();

    /** The digests after each step that a rank has done. */
    final NavigableMap<Long, Long> done = new TreeMap<>();

    Generation(Entered first) {
      number = first.generation();
      start = first.step();
      size = first.size();
      origin = first.origin();
      digest = first.digest();
      names = new String[size];
      Arrays.fill(names, "");
    }
  }

  private static final int SHOWN = 12;

  private final long samples;
  private final long epochs;
  private final long everySteps;
  private final NavigableMap<Integer, Generation> generations = new TreeMap<>();
  private final NavigableMap<Long, Generation> completed = new TreeMap<>();

  /** By step and rank; a step that is repeated has the same. */
  private final Map<Long, Map<Integer, Long>> seeds = new HashMap<>();

  private final List<String> faults = new ArrayList<>();
  private long padding;
  private long undone;
  private long compared;

  private Verdict(long samples, long epochs, long everySteps) {
    this.samples = samples;
    this.epochs = epochs;
    this.everySteps = everySteps;
  }

  /**
   * Checks the logs.
   *
   * @param logs of all processes of the job
   * @param samples of an epoch
   * @param epochs of the training
   * @param everySteps the steps from one checkpoint to the next; a return to one must not undo more
   *     than twice as many, as one checkpoint may be unfinished
   */
  static Verdict of(Collection<RankLog> logs, long samples, long epochs, long everySteps) {
    Verdict verdict = new Verdict(samples, epochs, everySteps);
    logs.forEach(verdict::addWorlds);
    logs.forEach(verdict::addSteps);
    verdict.complete();
    logs.forEach(verdict::requireNothingLost);
    verdict.requireEachSampleOnce();
    verdict.requireEqualEnds(logs);
    return verdict;
  }

  private void fault(String text) {
    faults.add(text);
  }

  private void addWorlds(RankLog log) {
    for (Entered each : log.all(Entered.class)) {
      Generation world =
          generations.computeIfAbsent(each.generation(), any -> new Generation(each));
      String who = "rank %d (%s) of generation %d".formatted(each.rank(), log.name(), world.number);
      if (each.step() != world.start
          || each.size() != world.size
          || each.origin() != world.origin) {
        fault(
            "%s starts at step %d of %d ranks from %s, another at step %d of %d from %s"
                .formatted(
                    who,
                    each.step(),
                    each.size(),
                    each.origin(),
                    world.start,
                    world.size,
                    world.origin));
      } else if (each.digest() != world.digest) {
        fault("%s starts with another state than the other ranks".formatted(who));
      } else if (!world.names[each.rank()].isEmpty()) {
        fault("%s is there twice".formatted(who));
      } else {
        world.names[each.rank()] = log.name();
      }
      compared++;
    }
  }

  private void addSteps(RankLog log) {
    Entered world = null;
    for (RankLog.Event event : log.events()) {
      if (event instanceof Entered e) {
        world = e;
      } else if (event instanceof Begun e) {
        Generation own = generations.get(e.generation());
        if (own == null || world == null || world.generation() != e.generation()) {
          fault("%s has begun step %d of a generation not entered".formatted(log.name(), e.step()));
          continue;
        }
        requireSameSeed(world.rank(), e);
        Begun before =
            own.begun.computeIfAbsent(e.step(), any -> new HashMap<>()).put(world.rank(), e);
        if (before != null) {
          fault(
              "%s has begun step %d twice in generation %d"
                  .formatted(log.name(), e.step(), e.generation()));
        }
      } else if (event instanceof Done e) {
        Generation own = generations.get(e.generation());
        if (own == null || world == null || world.generation() != e.generation()) {
          fault("%s has done step %d of a generation not entered".formatted(log.name(), e.step()));
          continue;
        }
        Long digest = own.done.putIfAbsent(e.step(), e.digest());
        compared++;
        if (digest != null && digest != e.digest()) {
          fault(
              "the states of the ranks differ after step %d of generation %d (%s)"
                  .formatted(e.step(), e.generation(), log.name()));
        }
      }
    }
  }

  private void requireSameSeed(int rank, Begun step) {
    Long before =
        seeds.computeIfAbsent(step.step(), any -> new HashMap<>()).putIfAbsent(rank, step.seed());
    if (before != null && before != step.seed()) {
      fault(
          "rank %d of step %d has the seed %d in generation %d, and %d in another"
              .formatted(rank, step.step(), step.seed(), step.generation(), before));
    }
  }

  private void complete() {
    for (Generation each : generations.values()) {
      if (each.size < Job.LEAST || each.size > Job.MOST) {
        fault(
            "generation %d has %d ranks, outside of %d to %d"
                .formatted(each.number, each.size, Job.LEAST, Job.MOST));
      }
      NavigableMap<Long, Generation> after = completed.tailMap(each.start, true);
      if (each.origin == World.Origin.CHECKPOINT) {
        long lost =
            after.entrySet().stream()
                .filter(step -> step.getValue().done.containsKey(step.getKey()))
                .count();
        undone += lost;
        if (lost > 2 * everySteps) {
          fault(
              "generation %d has undone %d steps, with a checkpoint every %d"
                  .formatted(each.number, lost, everySteps));
        }
      } else if (each.origin == World.Origin.START && each.number != generations.firstKey()) {
        fault("generation %d starts the training again".formatted(each.number));
      }
      after.clear();
      if (each.start > 0 && !completed.containsKey(each.start - 1)) {
        fault(
            "generation %d starts at step %d, which no one has reached"
                .formatted(each.number, each.start));
      }
      each.begun.keySet().forEach(step -> completed.put(step, each));
    }
    requireEachStep();
  }

  private void requireEachStep() {
    long expected = 0;
    for (Map.Entry<Long, Generation> each : completed.entrySet()) {
      if (each.getKey() != expected) {
        fault("steps %d to %d are missing".formatted(expected, each.getKey() - 1));
      }
      expected = each.getKey() + 1;
      Generation in = each.getValue();
      Map<Integer, Begun> parts = in.begun.get(each.getKey());
      if (parts == null || parts.size() != in.size || !in.done.containsKey(each.getKey())) {
        fault(
            "step %d counts as completed in generation %d, where %d of %d ranks have begun it"
                .formatted(each.getKey(), in.number, parts == null ? 0 : parts.size(), in.size));
      }
    }
  }

  /** Requires that a rank that continues keeps each step that it has done, and its state. */
  private void requireNothingLost(RankLog log) {
    long done = -1;
    for (RankLog.Event event : log.events()) {
      if (event instanceof Done e) {
        done = e.step();
      } else if (event instanceof Entered e) {
        if (e.step() <= done) {
          fault(
              "%s has done step %d, but generation %d starts at step %d"
                  .formatted(log.name(), done, e.generation(), e.step()));
        } else if (done >= 0 && e.origin() != World.Origin.RANK_ZERO) {
          fault(
              "%s has done step %d, but generation %d takes the state from %s"
                  .formatted(log.name(), done, e.generation(), e.origin()));
        }
        done = e.step() <= done ? -1 : done;
      }
    }
  }

  private void requireEachSampleOnce() {
    Map<Long, int[]> used = new HashMap<>();
    completed.forEach(
        (step, in) -> {
          Map<Integer, Begun> parts = in.begun.getOrDefault(step, Map.of());
          for (Begun part : parts.values()) {
            padding += part.padding();
            int[] counts = used.computeIfAbsent(part.epoch(), any -> new int[(int) samples]);
            for (long index : part.indices()) {
              counts[(int) index]++;
            }
          }
        });
    for (long epoch = 0; epoch < epochs; epoch++) {
      int[] counts = used.getOrDefault(epoch, new int[(int) samples]);
      for (int i = 0; i < counts.length; i++) {
        if (counts[i] != 1) {
          fault("sample %d of epoch %d was used %d times".formatted(i, epoch, counts[i]));
        }
      }
    }
    used.keySet().stream()
        .filter(epoch -> epoch >= epochs)
        .forEach(epoch -> fault("epoch %d was trained, of %d".formatted(epoch, epochs)));
  }

  private void requireEqualEnds(Collection<RankLog> logs) {
    int count = 0;
    for (RankLog log : logs) {
      for (Ended each : log.all(Ended.class)) {
        if (each.end() == RankLog.End.COMPLETED) {
          count++;
        } else if (each.end() == RankLog.End.FAILED) {
          fault("%s has failed: %s".formatted(log.name(), each.text()));
        }
      }
    }
    int size = generations.isEmpty() ? 0 : generations.lastEntry().getValue().size;
    if (count != size || count == 0) {
      fault(
          "%d ranks have completed the training, of %d in the last generation"
              .formatted(count, size));
    }
  }

  /** Returns all that is wrong; empty if nothing is. */
  List<String> faults() {
    if (faults.size() <= SHOWN) {
      return List.copyOf(faults);
    }
    List<String> first = new ArrayList<>(faults.subList(0, SHOWN));
    first.add("and " + (faults.size() - SHOWN) + " more");
    return first;
  }

  /** Returns the generations that a rank has entered. */
  NavigableMap<Integer, Generation> generations() {
    return generations;
  }

  /** Returns the number of completed steps. */
  long steps() {
    return completed.size();
  }

  /** Returns the number of samples in completed steps that are padding. */
  long padding() {
    return padding;
  }

  /** Returns the number of steps that a rank had done and that were repeated after a checkpoint. */
  long undone() {
    return undone;
  }

  /** Returns the number of digests that were compared. */
  long compared() {
    return compared;
  }
}
