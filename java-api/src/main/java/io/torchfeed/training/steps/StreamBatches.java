// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.training.steps;

import io.torchfeed.data.LoaderState;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;

/**
 * Batches of the shards of a stream. Only the rank that reads a shard knows where it is, and a rank
 * that is lost takes that with it: so before each step the ranks tell each other their positions
 * after it, and whether they have a batch for it, as their numbers of batches differ.
 */
final class StreamBatches implements EpochBatches {
  private static final String BATCH = "+";
  private static final String NO_BATCH = "-";

  private final Batches batches;
  private final int perStep;
  private final Peers peers;
  private final List<LoaderState> from;
  private final Deque<Batch> step = new ArrayDeque<>();
  private final List<Batch> kept = new ArrayList<>();

  // The messages of all ranks, by rank; empty before the first step.
  private String[] taken = {};
  private String[] used = {};

  StreamBatches(Batches batches, List<LoaderState> from, int perStep, Peers peers) {
    this.batches = batches;
    this.from = from;
    this.perStep = perStep;
    this.peers = peers;
  }

  @Override
  public long epoch() {
    return batches.epoch();
  }

  @Override
  public boolean nextStep() {
    endStep();
    while (step.size() < perStep && batches.hasNext()) {
      Batch next = batches.next();
      if (perStep > 1) { // else it is valid until the next step
        next = next.keep();
        kept.add(next);
      }
      step.add(next);
    }
    String mine = (step.isEmpty() ? NO_BATCH : BATCH) + batches.state().toJson();
    taken = peers.texts().apply(mine);
    return isAny(BATCH);
  }

  private boolean isAny(String kind) {
    return Arrays.stream(taken).anyMatch(each -> each.startsWith(kind));
  }

  private void endStep() {
    kept.forEach(Batch::close);
    kept.clear();
    step.clear();
  }

  @Override
  public boolean hasNext() {
    return !step.isEmpty();
  }

  @Override
  public Batch next() {
    return step.remove();
  }

  @Override
  public boolean isUneven() {
    return isAny(BATCH) && isAny(NO_BATCH);
  }

  @Override
  public boolean isLast() {
    return false; // the next gathering tells
  }

  @Override
  public long steps() {
    return -1;
  }

  @Override
  public long stepsLeft() {
    return -1;
  }

  @Override
  public void commit() {
    used = taken;
  }

  @Override
  public List<LoaderState> committed() {
    return used.length == 0 ? from : states(used);
  }

  @Override
  public List<LoaderState> end() {
    return states(taken);
  }

  private static List<LoaderState> states(String[] told) {
    return Arrays.stream(told)
        .map(each -> LoaderState.fromJson(each.substring(BATCH.length())))
        .toList();
  }

  @Override
  public void close() {
    endStep();
    batches.close();
  }
}
