// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.membership;

import io.torchfeed.distributed.membership.CoordinatorEvent.Kind;
import io.torchfeed.distributed.membership.Member.Doing;
import io.torchfeed.internal.Quotes;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.OptionalLong;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The rules by which generations are formed, without sockets and clocks: messages and times come
 * in, messages go out. Not thread-safe.
 *
 * <p>A generation is formed when no member of the one before is still in it, from the members that
 * wait, furthest first. One that has members to lose is never formed in place of one that trains:
 * who comes or leaves as planned makes the others meet after a step.
 */
final class Roster {
  /** Takes messages to members. */
  interface Wire {
    void send(long id, Message message);

    /** Ends the connection when all has been sent. */
    void drop(long id);
  }

  private enum Phase {
    FORMING,
    RUNNING,
    PAUSING,
    OVER
  }

  private final CoordinatorOptions options;
  private final Wire wire;
  private final Watchers watchers;
  private final MemberTable members = new MemberTable();
  private Phase phase = Phase.FORMING;
  private int generation;
  private boolean hasHeldState;
  private long formingSince;
  private OptionalLong waitingSince = OptionalLong.empty();
  private OptionalLong shortSince = OptionalLong.empty();
  private @Nullable String failure;
  private long now;

  Roster(
      CoordinatorOptions options, Wire wire, Consumer<CoordinatorEvent> events, long startNanos) {
    this.options = options;
    this.wire = wire;
    this.watchers = new Watchers(events, wire);
    this.formingSince = startNanos;
    this.now = startNanos;
  }

  int generation() {
    return generation;
  }

  boolean isOver() {
    return phase == Phase.OVER;
  }

  /** Returns why the job has failed; null if it has not. */
  @Nullable String failure() {
    return failure;
  }

  void connected(long id, String name, long nanos) {
    now = nanos;
    if (phase == Phase.OVER) {
      wire.send(id, ended());
      wire.drop(id);
      return;
    }
    members.add(new Member(id, name, now));
    note(Kind.CONNECTED, name + " has connected", List.of(name));
  }

  /**
   * Takes a message of a connected member.
   *
   * @throws IllegalArgumentException if members do not send such messages at this time
   */
  void received(long id, Message message, long nanos) {
    Member member = members.get(id);
    if (member == null) {
      return; // it was expelled, and this was on the way
    }
    now = nanos;
    member.hear(now, options.silence());
    if (message instanceof Message.Beat beat) {
      noteHolder(member, beat.step());
      if (member.isToBeAnswered(now, options.silence())) {
        wire.send(id, message);
      }
    } else if (message instanceof Message.Ready ready) {
      ready(member, ready);
    } else if (message instanceof Message.Listening listening) {
      if (isCurrent(member, listening.generation())) {
        Message master = new Message.Master(generation, listening.host(), listening.port());
        members.ofGeneration().stream()
            .filter(m -> m != member)
            .forEach(m -> wire.send(m.id, master));
      }
    } else if (message instanceof Message.At at) {
      if (isCurrent(member, at.generation()) && phase == Phase.PAUSING) {
        members.answered(member, at.step());
        agree();
      }
    } else if (message instanceof Message.Leaving) {
      member.isLeaving = true;
      if (member.doing == Doing.TRAINING) {
        pause(member + " is about to leave");
      } else if (!member.isInGeneration()) {
        release(member);
      }
    } else if (message instanceof Message.Left left) {
      wire.drop(id);
      gone(id, left.failure().isEmpty() ? null : left.failure(), nanos);
    } else if (message instanceof Message.Finished finished) {
      member.step = finished.step();
      if (member.isInGeneration()) {
        members.set(member, Doing.DONE);
        finishIfAllAreDone();
      }
    } else if (message instanceof Message.Watch) {
      watchers.add(id);
    } else {
      throw new IllegalArgumentException("members do not send " + message);
    }
  }

  private void noteHolder(Member member, long step) {
    member.isHolder |= step > 0;
    hasHeldState |= step > 0;
  }

  private boolean isCurrent(Member member, int generationOfMessage) {
    return member.isInGeneration() && generationOfMessage == generation;
  }

  private void ready(Member member, Message.Ready ready) {
    boolean wasIn = member.isInGeneration();
    boolean isPlanned = phase == Phase.PAUSING && ready.reason().isEmpty();
    members.set(member, Doing.WAITING);
    member.step = ready.step();
    noteHolder(member, ready.step());
    if (wasIn && !isPlanned && isTraining()) {
      String reason = member + " has left the generation: " + ready.reason();
      breakUp(reason, reason);
    } else if (!wasIn && isTraining() && members.generationSize() < options.maxRanks()) {
      pause(member + " has come");
    }
    if (member.isLeaving) {
      release(member);
    }
    form();
  }

  /** Lets a member go that is in no generation and has asked to leave. */
  private void release(Member member) {
    boolean isLast =
        member.isHolder
            && members.all().stream().noneMatch(other -> other != member && other.isHolder);
    dismiss(
        member,
        new Message.Ended(
            MembershipEndedException.Reason.LEFT, "this process has asked to leave", isLast));
    gone(member.id, null, now);
  }

  private void dismiss(Member member, Message.Ended ended) {
    wire.send(member.id, ended);
    wire.drop(member.id);
  }

  private boolean isTraining() {
    return phase == Phase.RUNNING || phase == Phase.PAUSING;
  }

  /** Takes the end of a connection; without a reason it was planned. */
  void gone(long id, @Nullable String reason, long nanos) {
    now = nanos;
    Member member = members.remove(id);
    watchers.remove(id);
    if (member == null || phase == Phase.OVER) {
      return;
    }
    String text = reason == null ? member + " has left" : member + " was lost: " + reason;
    note(reason == null ? Kind.LEFT : Kind.LOST, text, List.of(member.name));
    boolean isPlanned = reason == null && phase == Phase.PAUSING;
    if (member.isInGeneration() && isTraining() && !isPlanned) {
      breakUp(text, "the ranks return to the end of the last completed step");
    }
    if (phase == Phase.PAUSING) {
      agree();
    }
    finishIfAllAreDone();
    form();
  }

  /** Ends a generation in the middle of a step. */
  private void breakUp(String reason, String event) {
    note(Kind.BROKEN, event, List.of());
    phase = Phase.FORMING;
    formingSince = now;
    for (Member each : members.ofGeneration()) {
      members.set(each, Doing.TRAINING); // also one that is done takes part in the next
      wire.send(each.id, new Message.Broken(generation, reason));
    }
  }

  /** Ends a generation after a step on which all agree. */
  private void pause(String reason) {
    if (phase != Phase.RUNNING) {
      return;
    }
    phase = Phase.PAUSING;
    formingSince = now;
    members.ask();
    for (Member each : members.ofGeneration()) {
      wire.send(each.id, new Message.Pause(generation));
    }
    note(Kind.PAUSED, reason, List.of()); // a member that watches gets it after its message
  }

  /** Tells all which step is the last, as soon as all have answered. */
  private void agree() {
    members
        .lastStep()
        .ifPresent(
            last ->
                members
                    .ofGeneration()
                    .forEach(each -> wire.send(each.id, new Message.StopAfter(generation, last))));
  }

  private void finishIfAllAreDone() {
    if (isTraining()
        && members.count(Doing.DONE) > 0
        && members.count(Doing.TRAINING) == 0
        && members.stream(Doing.WAITING).noneMatch(each -> isAwaited(each))) {
      List<Member> training = members.ofGeneration();
      note(
          Kind.FINISHED,
          "training has been completed by " + training.size() + " ranks",
          training.stream()
              .sorted(Comparator.comparingInt(each -> each.rank))
              .map(each -> each.name)
              .toList());
      end();
    }
  }

  /** Returns whether one that waits was in the generation, and has state to be trained. */
  private static boolean isAwaited(Member member) {
    return member.rank >= 0 && !member.isLeaving;
  }

  private void end() {
    phase = Phase.OVER;
    members.all().forEach(each -> wire.send(each.id, ended()));
  }

  private Message ended() {
    return failure == null
        ? new Message.Ended(MembershipEndedException.Reason.FINISHED, "")
        : new Message.Ended(MembershipEndedException.Reason.FAILED, failure);
  }

  private void fail(String reason) {
    failure = reason;
    note(Kind.FAILED, reason, List.of());
    end();
  }

  private void form() {
    if (phase == Phase.RUNNING || phase == Phase.OVER || members.generationSize() > 0) {
      return;
    }
    if (members.count(Doing.WAITING) == 0) {
      waitingSince = OptionalLong.empty();
      return;
    }
    if (waitingSince.isEmpty()) {
      waitingSince = OptionalLong.of(now);
    }
    boolean isFirst = generation == 0;
    boolean hasWaited = now - waitingSince.getAsLong() >= options.start().toNanos();
    int wanted = isFirst && !hasWaited ? options.maxRanks() : options.minRanks();
    if (members.count(Doing.WAITING) < wanted) {
      return;
    }
    List<Member> waiting =
        waiting()
            .sorted(
                Comparator.comparingLong((Member each) -> -each.step)
                    .thenComparingLong(each -> each.id))
            .toList();
    if (waiting.size() >= wanted) {
      form(waiting.subList(0, Math.min(waiting.size(), options.maxRanks())));
    }
  }

  private Stream<Member> waiting() {
    return members.stream(Doing.WAITING).filter(each -> !each.isLeaving);
  }

  private void form(List<Member> chosen) {
    generation++;
    phase = Phase.RUNNING;
    waitingSince = OptionalLong.empty();
    shortSince = OptionalLong.empty();
    members.all().forEach(each -> each.rank = -1);
    World.Origin origin = origin(chosen.get(0));
    long step = origin == World.Origin.RANK_ZERO ? chosen.get(0).step : Message.NO_STEP;
    List<String> names = new ArrayList<>();
    for (Member each : chosen) {
      each.rank = names.size();
      members.set(each, Doing.TRAINING);
      names.add(each.name + (each.step == Message.NO_STEP ? "" : "@" + each.step));
      wire.send(each.id, new Message.Formed(generation, each.rank, chosen.size(), origin, step));
    }
    note(
        Kind.FORMED,
        "generation " + generation + " of " + chosen.size() + " ranks: " + names,
        chosen.stream().map(each -> each.name).toList());
  }

  private World.Origin origin(Member furthest) {
    if (furthest.step != Message.NO_STEP) {
      return World.Origin.RANK_ZERO;
    }
    return hasHeldState ? World.Origin.CHECKPOINT : World.Origin.START;
  }

  /** Expels silent members, and ends waits that are too long; see {@link Member#look}. */
  void tick(long nanos, boolean isLate) {
    now = nanos;
    for (Member each : List.copyOf(members.all())) {
      Member.Life life = each.look(now, options.silence(), isLate);
      if (life == Member.Life.LOST) {
        expel(each, each.silence(options.silence()));
      } else if (life == Member.Life.TO_ASK) {
        wire.send(each.id, new Message.Ask());
      } else if (phase == Phase.FORMING
          && each.isInGeneration()
          && now - formingSince > options.back().toNanos()) {
        expel(each, "it did not leave the broken generation within " + millis(options.back()));
      }
    }
    form();
    if (phase == Phase.RUNNING || phase == Phase.OVER || members.generationSize() > 0) {
      return;
    }
    long ready = waiting().count();
    if (ready >= options.minRanks()) {
      shortSince = OptionalLong.empty(); // the first generation waits for more
    } else if (shortSince.isEmpty()) {
      shortSince = OptionalLong.of(now);
    } else if (now - shortSince.getAsLong() > options.replacement().toNanos()) {
      fail(
          "%d of at least %d ranks were there after %s"
              .formatted(ready, options.minRanks(), millis(options.replacement())));
    }
  }

  private static String millis(Duration duration) {
    return duration.toMillis() + " ms";
  }

  private void expel(Member member, String reason) {
    dismiss(member, new Message.Ended(MembershipEndedException.Reason.EXPELLED, reason));
    gone(member.id, reason, now);
  }

  private void note(Kind kind, String text, List<String> processes) {
    watchers.note(new CoordinatorEvent(kind, generation, Quotes.printable(text), processes));
  }
}
