// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist.faults;

import io.torchfeed.distributed.membership.CoordinatorEvent.Kind;
import io.torchfeed.distributed.membership.World;
import io.torchfeed.examples.mnist.faults.RankLog.End;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;

/** Does single faults to a job, and waits until the others have completed another step. */
final class Injector {
  /** Processes that have loaded their classes and wait to be told to join. */
  private static final int SPARES = 2;

  /** Steps that a job must have left for a fault, so that it does not end meanwhile. */
  private static final int MARGIN = 60;

  /** The most steps between two faults if many are left. */
  private static final int GAP = 12;

  private static final Comparator<RankLog.Done> BY_TIME =
      Comparator.comparingLong(RankLog.Done::nanos);

  private final Job job;
  private final Random random;
  private final List<RankHandle> spares = new ArrayList<>();
  private final Map<RankHandle, End> asked = new HashMap<>();
  private boolean killsAsNamed;

  Injector(Job job, Random random) {
    this.job = job;
    this.random = random;
  }

  /** A fault: its time, the first generation after it, and whether it has met its moment. */
  private record Blow(long nanos, int next, boolean hasMet) {}

  void begin() throws IOException, InterruptedException {
    for (int i = 0; i < Job.MOST; i++) {
      job.start().say("join");
    }
    job.awaitValue("the first generation", () -> job.members(1));
    replenish();
  }

  private void replenish() throws IOException {
    spares.removeIf(each -> !each.isAlive());
    while (spares.size() < SPARES) {
      spares.add(job.start());
    }
  }

  /** Returns a process that is ready to join. */
  private RankHandle spare() throws IOException, InterruptedException {
    replenish();
    RankHandle next = spares.remove(0);
    job.await(next.name() + " is ready", next::isReady);
    return next;
  }

  private RankHandle join() throws IOException, InterruptedException {
    RankHandle joining = spare();
    joining.say("join");
    return joining;
  }

  /** Waits until processes that join have completed a step. */
  private void awaitTrained(List<RankHandle> joined) throws InterruptedException {
    for (RankHandle each : joined) {
      job.await(each.name() + " completes a step", () -> each.doneGeneration() > 0);
    }
  }

  /** Starts training again with the least number of ranks, and waits for a step of all. */
  private List<RankHandle> replace() throws IOException, InterruptedException {
    List<RankHandle> joined = new ArrayList<>();
    for (int i = 0; i < Job.LEAST; i++) {
      joined.add(join());
    }
    awaitTrained(joined);
    return joined;
  }

  boolean hasTimeFor(Fault fault) {
    RankArguments.Training training = job.training();
    long need = fault == Fault.KILLED_LAST_STEP ? training.steps() / training.epochs() : 0;
    return training.steps() - job.step() > need + MARGIN;
  }

  /** Lets the ranks train for a random time, longer if few faults are left. */
  void pause(int faultsLeft) throws InterruptedException {
    long free = job.training().steps() - job.step() - MARGIN;
    long gap = Math.max(1, Math.min(GAP, free / (2L * faultsLeft)));
    long until = job.step() + random.nextInt((int) gap + 1);
    job.await("step " + until, () -> job.step() >= until);
  }

  private List<RankHandle> members(int fromGeneration) throws InterruptedException {
    return job.awaitValue(
        "all ranks complete a step in generation " + fromGeneration + " or later",
        () -> job.members(fromGeneration));
  }

  /** Lets ranks come or go until their number is in a range, and returns them. */
  private List<RankHandle> settle(int least, int most) throws IOException, InterruptedException {
    List<RankHandle> now = members(0);
    while (now.size() < least || now.size() > most) {
      int generation = job.generation();
      if (now.size() < least) {
        awaitTrained(List.of(join()));
      } else {
        leave(any(now));
      }
      now = members(generation + 1);
    }
    return now;
  }

  private void leave(RankHandle rank) {
    asked.put(rank, End.LEFT);
    rank.say("leave");
  }

  private RankHandle any(List<RankHandle> ranks) {
    return ranks.get(random.nextInt(ranks.size()));
  }

  private void sleepUpTo(int millis) {
    LockSupport.parkNanos(TimeUnit.MICROSECONDS.toNanos(random.nextInt(1000 * millis)));
  }

  /** Does a fault and waits until the others continue; returns nothing if it missed its moment. */
  Optional<Campaign.Done> inject(Fault fault) throws IOException, InterruptedException {
    List<RankHandle> ranks = settle(fault.least, fault.most);
    replenish();
    Blow blow = strike(fault, ranks);
    members(blow.next());
    Campaign.Done done = recovered(fault, blow);
    if (fault == Fault.JOINED || fault == Fault.LEFT) {
      requireNoneRepeated(fault, blow.next());
    }
    replenish();
    return blow.hasMet() ? Optional.of(done) : Optional.empty();
  }

  /** Requires that no rank has begun a step in the generation before that this one repeats. */
  private void requireNoneRepeated(Fault fault, int generation) {
    long start =
        all(RankLog.Entered.class)
            .filter(each -> each.generation() == generation)
            .mapToLong(RankLog.Entered::step)
            .min()
            .orElseThrow();
    all(RankLog.Begun.class)
        .filter(each -> each.generation() < generation && each.step() >= start)
        .findAny()
        .ifPresent(
            each -> {
              throw new IllegalStateException(
                  "step %d of generation %d is repeated in %d, after %s"
                      .formatted(each.step(), each.generation(), generation, fault));
            });
  }

  private Campaign.Done recovered(Fault fault, Blow blow) throws InterruptedException {
    RankLog.Done step =
        job.awaitValue(
            "a step after " + fault,
            () ->
                steps()
                    .filter(each -> each.generation() >= blow.next())
                    .filter(each -> each.nanos() > blow.nanos())
                    .min(BY_TIME));
    Optional<Long> broken =
        fault == Fault.JOINED
            ? Optional.of(blow.nanos()) // the ranks were asked to pause before their last step
            : job.noted(blow.nanos(), each -> isEnd(each.kind())).map(Job.Noted::nanos);
    double reforming = Double.NaN;
    if (broken.isPresent() && fault != Fault.STRANGERS) {
      long entered =
          all(RankLog.Entered.class)
              .filter(each -> each.generation() == step.generation())
              .mapToLong(RankLog.Entered::nanos)
              .max()
              .orElseThrow();
      reforming = (entered - broken.get()) / 1e6;
    }
    return new Campaign.Done(fault, (step.nanos() - blow.nanos()) / 1e6, reforming);
  }

  private Stream<RankLog.Done> steps() {
    return all(RankLog.Done.class);
  }

  private <T extends RankLog.Event> Stream<T> all(Class<T> kind) {
    return job.ranks().stream().flatMap(each -> each.log().all(kind).stream());
  }

  private static boolean isEnd(Kind kind) {
    return kind == Kind.BROKEN || kind == Kind.PAUSED;
  }

  private Blow strike(Fault fault, List<RankHandle> ranks)
      throws IOException, InterruptedException {
    sleepUpTo(200);
    return switch (fault) {
      case KILLED -> kill(any(ranks));
      case RANK_ZERO -> kill(ranks.get(0));
      case STOPPED -> stop(any(ranks));
      case EXCEPTION -> fail(any(ranks));
      case JOINED -> joined();
      case LEFT -> left(any(ranks));
      case KILLED_REFORMING -> whileReforming(ranks);
      case KILLED_TRANSFER -> inTransfer();
      case KILLED_LAST_STEP -> atLastStep(ranks);
      case KILLED_CHECKPOINT -> inCheckpoint(ranks.get(0));
      case TOO_FEW -> tooFew(ranks);
      case ALL_KILLED -> allKilled(ranks);
      case STRANGERS -> strangers();
    };
  }

  private Blow blow() {
    return new Blow(System.nanoTime(), job.generation() + 1, true);
  }

  /** Returns a blow whose moment did not come. */
  private Blow none() {
    return new Blow(System.nanoTime(), job.generation(), false);
  }

  /** Returns the step after which a moment is missed that was to come within some steps. */
  private long stepWithin(long steps) {
    return Math.min(job.step() + steps, job.training().steps() - GAP);
  }

  private Blow kill(RankHandle rank) {
    Blow blow = blow();
    rank.kill();
    return blow;
  }

  private Blow stop(RankHandle rank) throws InterruptedException {
    Blow blow = blow();
    asked.put(rank, End.EXPELLED);
    rank.signal("STOP");
    try {
      members(blow.next());
    } finally {
      rank.signal("CONT");
    }
    rank.await(Job.LIMIT_SECONDS); // end() looks at the status
    return blow;
  }

  private Blow fail(RankHandle rank) {
    Blow blow = blow();
    asked.put(rank, End.THREW);
    rank.say("throw " + random.nextInt(FaultRank.PLACES));
    return blow;
  }

  private Blow joined() throws IOException, InterruptedException {
    Blow before = blow();
    awaitTrained(List.of(join()));
    long lastStep =
        steps()
            .filter(each -> each.generation() < before.next())
            .max(BY_TIME)
            .orElseThrow()
            .nanos();
    return new Blow(lastStep, before.next(), true);
  }

  private Blow left(RankHandle rank) {
    Blow blow = blow();
    leave(rank);
    return blow;
  }

  private Blow whileReforming(List<RankHandle> ranks) throws InterruptedException {
    RankHandle first = any(ranks);
    RankHandle second = any(ranks.stream().filter(each -> each != first).toList());
    Blow blow = kill(first);
    job.awaitValue(
        "the generation breaks", () -> job.noted(blow.nanos(), each -> each.kind() == Kind.BROKEN));
    sleepUpTo(25);
    second.kill();
    second.await(Job.LIMIT_SECONDS);
    return new Blow(blow.nanos(), blow.next(), second.doneGeneration() < blow.next());
  }

  private Blow inTransfer() throws IOException, InterruptedException {
    RankHandle joiner = spare();
    joiner.say("join");
    job.await(joiner.name() + " is to get the state", joiner::isWrapped);
    sleepUpTo(15);
    Blow blow = kill(joiner);
    joiner.await(Job.LIMIT_SECONDS);
    return new Blow(blow.nanos(), blow.next(), joiner.entered() == null);
  }

  private Blow atLastStep(List<RankHandle> ranks) throws InterruptedException {
    EpochEnd end = new EpochEnd(job);
    RankHandle rank = any(ranks);
    long stop = stepWithin(job.training().steps() / job.training().epochs());
    Optional<RankLog.Begun> step =
        job.awaitValue(
            "the last step of an epoch",
            () -> {
              Optional<RankLog.Begun> last = end.last(rank);
              return last.isPresent() || job.step() > stop ? Optional.of(last) : Optional.empty();
            });
    if (step.isEmpty()) {
      return none();
    }
    sleepUpTo(10);
    Blow blow = kill(rank);
    rank.await(Job.LIMIT_SECONDS);
    return new Blow(blow.nanos(), blow.next(), EpochEnd.isIn(rank, step.get()));
  }

  private Blow inCheckpoint(RankHandle rankZero) throws IOException, InterruptedException {
    try (CheckpointWatch watch = new CheckpointWatch(job)) {
      long stop = stepWithin(2 * job.training().everySteps());
      if (!(killsAsNamed ? watch.awaitNamed(stop) : watch.awaitWriting(stop))) {
        return none();
      }
      Blow blow = kill(rankZero);
      rankZero.await(Job.LIMIT_SECONDS);
      boolean hasMet = killsAsNamed || watch.isUnfinished();
      killsAsNamed ^= hasMet; // the next time at the other moment
      CheckpointWatch.lastWhole(job);
      return new Blow(blow.nanos(), blow.next(), hasMet);
    }
  }

  private Blow tooFew(List<RankHandle> ranks) throws IOException, InterruptedException {
    RankHandle survivor = any(ranks);
    Blow blow = blow();
    ranks.stream().filter(each -> each != survivor).forEach(RankHandle::kill);
    job.awaitValue(
        "the generation breaks", () -> job.noted(blow.nanos(), each -> each.kind() == Kind.BROKEN));
    sleepUpTo(800);
    if (job.generation() >= blow.next()) {
      throw new IllegalStateException(
          "generation %d was formed by fewer ranks than %d".formatted(blow.next(), Job.LEAST));
    }
    boolean waits = survivor.isAlive();
    replace();
    return new Blow(blow.nanos(), blow.next(), waits);
  }

  private Blow allKilled(List<RankHandle> ranks) throws IOException, InterruptedException {
    CheckpointWatch.awaitFirst(job);
    Blow blow = blow();
    ranks.forEach(RankHandle::kill);
    for (RankHandle each : ranks) {
      each.await(Job.LIMIT_SECONDS);
    }
    long last = CheckpointWatch.lastWhole(job);
    Optional<RankLog.Entered> from =
        replace().stream()
            .flatMap(each -> each.log().all(RankLog.Entered.class).stream())
            .filter(each -> each.origin() == World.Origin.CHECKPOINT)
            .findFirst();
    if (from.isPresent() && from.get().step() != last) {
      throw new IllegalStateException(
          "the ranks start at step %d, and the last checkpoint is of step %d"
              .formatted(from.get().step(), last));
    }
    return new Blow(blow.nanos(), blow.next(), from.isPresent());
  }

  private Blow strangers() throws InterruptedException {
    Blow blow = new Blow(System.nanoTime(), job.generation(), true);
    Strangers.come(job.port()); // ends no generation
    long step = job.step();
    job.await("three steps after strangers", () -> job.step() >= step + 3);
    if (job.generation() != blow.next()) {
      throw new IllegalStateException("strangers have changed the generation");
    }
    return blow;
  }

  /** Waits for the end of the training, and returns the wrong ends of processes. */
  List<String> end() throws InterruptedException {
    spares.forEach(each -> each.say("unused"));
    return JobEnd.await(job, asked);
  }
}
