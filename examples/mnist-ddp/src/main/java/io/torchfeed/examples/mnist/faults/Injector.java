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

/** Does single faults to a job, and waits until the others have completed another step. */
final class Injector {
  /** Processes that have loaded their classes and wait to be told to join. */
  private static final int SPARES = 2;

  /** Steps that a job must have left for a fault, so that it does not end meanwhile. */
  private static final int MARGIN = 60;

  /** The most steps between two faults if many are left. */
  private static final int GAP = 12;

  /** A kind is tried this often if the moment was missed. */
  private static final int TRIES = 20;

  private final Job job;
  private final Random random;
  private final List<RankHandle> spares = new ArrayList<>();
  private final Map<RankHandle, End> asked = new HashMap<>();
  private int missed;

  Injector(Job job, Random random) {
    this.job = job;
    this.random = random;
  }

  /** A fault: its time, its generation, and whether it has met its moment. */
  private record Blow(long nanos, int generation, boolean hasMet) {}

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

  private void join() throws IOException, InterruptedException {
    spare().say("join");
  }

  boolean hasTimeFor(Fault fault) {
    RankArguments.Training training = job.training();
    long left = training.steps() - job.step();
    long need = fault == Fault.KILLED_LAST_STEP ? training.steps() / training.epochs() : 0;
    return left > need + MARGIN;
  }

  /** Lets the ranks train for a random time, longer if few faults are left. */
  void pause(int faultsLeft) throws InterruptedException {
    long free = job.training().steps() - job.step() - MARGIN;
    long gap = Math.max(1, Math.min(GAP, free / (2L * faultsLeft)));
    long until = job.step() + random.nextInt((int) gap + 1);
    job.await("step " + until, () -> job.step() >= until);
  }

  int missed() {
    return missed;
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
        join();
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

  /** Does a fault, again if its moment was missed, and waits until the others continue. */
  Campaign.Done inject(Fault fault) throws IOException, InterruptedException {
    for (int i = 0; i < TRIES; i++) {
      List<RankHandle> ranks = settle(fault.least, fault.most);
      replenish();
      Blow blow = strike(fault, ranks);
      Campaign.Done done = recovered(fault, blow);
      replenish();
      if (blow.hasMet()) {
        return done;
      }
      missed++;
    }
    throw new IllegalStateException(fault + " has missed its moment " + TRIES + " times");
  }

  private Campaign.Done recovered(Fault fault, Blow blow) throws InterruptedException {
    int first = fault == Fault.STRANGERS ? blow.generation() : blow.generation() + 1;
    List<RankHandle> now = members(first);
    long step =
        job.awaitValue(
            "a step after " + fault,
            () ->
                job.ranks().stream()
                    .flatMap(each -> each.log().all(RankLog.Done.class).stream())
                    .filter(each -> each.generation() >= first && each.nanos() > blow.nanos())
                    .map(RankLog.Done::nanos)
                    .min(Comparator.naturalOrder()));
    Optional<Job.Noted> broken = job.noted(blow.nanos(), each -> isEnd(each.kind()));
    double reforming = Double.NaN;
    if (broken.isPresent() && fault != Fault.STRANGERS) {
      long entered = now.stream().mapToLong(each -> each.world().nanos()).max().orElse(0);
      reforming = (entered - broken.get().nanos()) / 1e6;
    }
    return new Campaign.Done(fault, (step - blow.nanos()) / 1e6, reforming);
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

  private Blow kill(RankHandle rank) {
    Blow blow = new Blow(System.nanoTime(), job.generation(), true);
    rank.kill();
    return blow;
  }

  private Blow stop(RankHandle rank) throws InterruptedException {
    Blow blow = new Blow(System.nanoTime(), job.generation(), true);
    asked.put(rank, End.EXPELLED);
    rank.signal("STOP");
    try {
      members(blow.generation() + 1);
    } finally {
      rank.signal("CONT");
    }
    rank.await(Job.LIMIT_SECONDS); // end() looks at the status
    return blow;
  }

  private Blow fail(RankHandle rank) {
    Blow blow = new Blow(System.nanoTime(), job.generation(), true);
    asked.put(rank, End.THREW);
    rank.say("throw " + random.nextInt(FaultRank.PLACES));
    return blow;
  }

  private Blow joined() throws IOException, InterruptedException {
    int generation = job.generation();
    long before = System.nanoTime();
    join();
    Job.Noted paused =
        job.awaitValue(
            "the ranks pause for one that joins",
            () -> job.noted(before, each -> each.kind() == Kind.PAUSED));
    return new Blow(paused.nanos(), generation, true);
  }

  private Blow left(RankHandle rank) {
    Blow blow = new Blow(System.nanoTime(), job.generation(), true);
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
    return new Blow(blow.nanos(), blow.generation(), second.doneGeneration() <= blow.generation());
  }

  private Blow inTransfer() throws IOException, InterruptedException {
    RankHandle joiner = spare();
    joiner.say("join");
    job.await(joiner.name() + " is to get the state", joiner::isWrapped);
    sleepUpTo(15);
    Blow blow = kill(joiner);
    joiner.await(Job.LIMIT_SECONDS);
    return new Blow(blow.nanos(), blow.generation(), joiner.entered() == null);
  }

  private Blow atLastStep(List<RankHandle> ranks) throws InterruptedException {
    EpochEnd end = new EpochEnd(job);
    RankHandle rank = any(ranks);
    job.await("the last step of an epoch", () -> end.isLast(rank));
    sleepUpTo(60);
    long step = EpochEnd.step(rank);
    Blow blow = kill(rank);
    rank.await(Job.LIMIT_SECONDS);
    return new Blow(blow.nanos(), blow.generation(), EpochEnd.step(rank) == step);
  }

  private Blow inCheckpoint(RankHandle rankZero) throws IOException, InterruptedException {
    CheckpointWatch watch = new CheckpointWatch(job.checkpoints());
    watch.awaitWriting();
    Blow blow = kill(rankZero);
    rankZero.await(Job.LIMIT_SECONDS);
    return new Blow(blow.nanos(), blow.generation(), watch.isUnfinished());
  }

  private Blow tooFew(List<RankHandle> ranks) throws IOException, InterruptedException {
    RankHandle survivor = any(ranks);
    Blow blow = new Blow(System.nanoTime(), job.generation(), true);
    ranks.stream().filter(each -> each != survivor).forEach(RankHandle::kill);
    job.awaitValue(
        "the generation breaks", () -> job.noted(blow.nanos(), each -> each.kind() == Kind.BROKEN));
    sleepUpTo(800);
    boolean waits = job.generation() == blow.generation() && survivor.isAlive();
    for (int i = 0; i < Job.LEAST; i++) {
      join();
    }
    return new Blow(blow.nanos(), blow.generation(), waits);
  }

  private Blow allKilled(List<RankHandle> ranks) throws IOException, InterruptedException {
    new CheckpointWatch(job.checkpoints()).awaitFirst();
    Blow blow = new Blow(System.nanoTime(), job.generation(), true);
    ranks.forEach(RankHandle::kill);
    for (RankHandle each : ranks) {
      each.await(Job.LIMIT_SECONDS);
    }
    for (int i = 0; i < Job.LEAST; i++) {
      join();
    }
    List<RankHandle> now = members(blow.generation() + 1);
    boolean isFromCheckpoint =
        now.stream().anyMatch(each -> each.world().origin() == World.Origin.CHECKPOINT);
    return new Blow(blow.nanos(), blow.generation(), isFromCheckpoint);
  }

  private Blow strangers() throws InterruptedException {
    Blow blow = new Blow(System.nanoTime(), job.generation(), true);
    Strangers.come(job.port());
    long step = job.step();
    job.await("three steps after strangers", () -> job.step() >= step + 3);
    if (job.generation() != blow.generation()) {
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
