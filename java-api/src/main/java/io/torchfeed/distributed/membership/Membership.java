// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.membership;

import static java.util.Objects.requireNonNull;

import io.torchfeed.distributed.membership.MembershipEndedException.Reason;
import io.torchfeed.internal.Checks;
import io.torchfeed.internal.FinishNote;
import io.torchfeed.internal.TerminationSignal;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.Arrays;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * This process's place in an elastic job.
 *
 * <p>The loop of a rank: {@link #next} waits for a generation; in it the rank joins a group, takes
 * the state from rank 0 and trains; after each completed step, {@link #commit} says whether the
 * generation is about to change. When a collective fails, the rank closes its group and calls
 * {@code next} again, and continues from the state of its last {@code commit}.
 *
 * <p>A thread of its own gives the coordinator signs of life, so that steps may take long. One
 * thread calls {@code next}, {@code commit} and {@code finish}; the others may be called from any.
 * Closing in a generation without {@link #finish}, {@link #leave} or {@link #fail} counts as a
 * failure, which the other ranks get as the reason, and which is logged as a warning.
 */
public final class Membership implements AutoCloseable {
  private static final Logger LOGGER = System.getLogger("io.torchfeed.distributed");
  private static final String FORGOTTEN =
      "its program closed the membership without finish(), leave() or fail(reason)";

  private final CoordinatorLink link;
  private final Watchers.Receiver events = new Watchers.Receiver();
  private final Object monitor = new Object();
  private final MembershipEndedException closed =
      new MembershipEndedException(Reason.LEFT, "this membership is closed");

  // Guarded by the monitor.
  private final WorldNews news = new WorldNews();
  private @Nullable MembershipEndedException end;
  private boolean isWelcome;

  /** True if {@link #commit} must look at the guarded fields. */
  private volatile boolean isEventful;

  private volatile long step = Message.NO_STEP;

  private Membership(CoordinatorLink link) {
    this.link = link;
  }

  /**
   * Connects to the coordinator of the launcher that has started this process. If that launcher
   * dies, this process leaves the job, and is killed 30 seconds later if it still runs. The same
   * holds after an expulsion, unless it has joined again.
   *
   * @return the membership; it has no generation yet
   * @throws IllegalArgumentException if an environment variable of an elastic launch is missing
   * @throws MembershipEndedException if no coordinator listens there, or one of another job
   * @throws InterruptedException if this thread is interrupted
   */
  public static Membership fromEnvironment() throws InterruptedException {
    return MembershipVariables.join(System.getenv());
  }

  /**
   * Connects to a coordinator, with the {@linkplain MembershipOptions#defaults default options}.
   *
   * @param host the name or address of its machine
   * @param port in [1, 65535]
   * @return the membership; it has no generation yet
   * @throws MembershipEndedException if none listens there, or one of a job with a name or a secret
   * @throws InterruptedException if this thread is interrupted
   */
  public static Membership join(String host, int port) throws InterruptedException {
    return join(host, port, MembershipOptions.defaults());
  }

  /**
   * Connects to a coordinator, and waits for it to listen.
   *
   * @param host the name or address of its machine
   * @param port in [1, 65535]
   * @param options of which job and with which secret, the name of this process, and how long to
   *     wait
   * @return the membership; it has no generation yet
   * @throws MembershipEndedException if none listens there, or one of another job or secret
   * @throws InterruptedException if this thread is interrupted
   */
  public static Membership join(String host, int port, MembershipOptions options)
      throws InterruptedException {
    requireNonNull(options, "options");
    CoordinatorLink link =
        CoordinatorLink.connect(
            requireNonNull(host, "host"), port, options.secret(), options.timeout());
    Membership membership = new Membership(link);
    link.start(
        membership::received,
        reason -> membership.ended(MembershipEndedException.lost(reason)),
        () -> membership.step);
    try {
      link.trySend(new Message.Hello(options.job(), options.name()));
      membership.awaitWelcome();
      return membership;
    } catch (RuntimeException | Error | InterruptedException e) {
      membership.close();
      throw e;
    }
  }

  private void awaitWelcome() throws InterruptedException {
    synchronized (monitor) {
      while (!isWelcome) {
        requireNotEnded();
        monitor.wait();
      }
    }
  }

  private void requireNotEnded() {
    if (closed.equals(end)) {
      throw new IllegalStateException(closed.getMessage());
    }
    if (end != null) {
      throw end.again();
    }
  }

  /**
   * Waits for the next generation.
   *
   * <p>Rank 0 of it then listens, and {@linkplain #announce announces} where; the other ranks get
   * that address in the generation.
   *
   * @param reason why this rank left the previous generation in mid-step; empty if {@link #commit}
   *     returned true, and on the first call
   * @return the generation; empty if the job has been completed
   * @throws MembershipEndedException if the job has failed, this process was expelled or has left,
   *     or the coordinator is lost
   * @throws IllegalStateException if this object was closed before any of that
   * @throws InterruptedException if this thread is interrupted
   */
  public Optional<World> next(String reason) throws InterruptedException {
    String why = requireNonNull(reason, "reason");
    synchronized (monitor) {
      while (true) {
        news.clear();
        isEventful = false;
        link.trySend(new Message.Ready(step, why));
        while (end == null && !news.isDecided()) {
          monitor.wait();
        }
        if (hasEnded(Reason.FINISHED)) {
          FinishNote.write(System.getenv());
          return Optional.empty();
        }
        requireNotEnded();
        if (news.broken == null) {
          return Optional.of(World.of(requireNonNull(news.formed), news.master, link.localHost()));
        }
        why = news.broken;
      }
    }
  }

  boolean hasEnded(Reason reason) {
    synchronized (monitor) {
      return end != null && end.reason() == reason;
    }
  }

  /**
   * Tells the other ranks of the generation where this one, its rank 0, listens.
   *
   * @param host a name or address of this machine; {@link World#host} is the one by which it is
   *     connected to the coordinator
   * @param port in [1, 65535]
   */
  public void announce(String host, int port) {
    synchronized (monitor) {
      if (news.formed == null || news.formed.rank() != 0) {
        throw new IllegalStateException("only rank 0 of a generation announces its address");
      }
      link.trySend(
          new Message.Listening(news.formed.generation(), requireNonNull(host, "host"), port));
    }
  }

  /**
   * Sets an action for when the generation breaks in the middle of a step: it ends the waits of
   * this rank, for example by aborting the group. Runs once. Runs at once if it is broken already.
   *
   * @param action run in a thread of this object; must not wait
   */
  public void whenBroken(Runnable action) {
    requireNonNull(action, "action");
    synchronized (monitor) {
      if (broken().isEmpty()) {
        news.whenBroken = action;
        return;
      }
    }
    action.run();
  }

  /**
   * Notes that this rank holds the whole state after a number of steps. Called at the end of each
   * step, and when the state has been taken from rank 0 or a checkpoint, not before it is complete.
   *
   * @param completed the steps completed, at least 0
   * @return whether the rank is to leave this generation now, and to call {@link #next}
   * @throws InterruptedException if this thread is interrupted while ranks agree on a last step
   */
  public boolean commit(long completed) throws InterruptedException {
    if (completed < 0) {
      throw new IllegalArgumentException("completed must be at least 0, got " + completed);
    }
    boolean isFirst = step <= 0 && completed > 0;
    step = completed;
    if (isFirst) {
      // At once: if all are lost now, the coordinator must know that there was a state to lose.
      link.trySend(new Message.Beat(completed));
    }
    return isEventful && mustLeave(completed);
  }

  private boolean mustLeave(long completed) throws InterruptedException {
    synchronized (monitor) {
      while (end == null && news.isUndecided(completed)) {
        monitor.wait();
      }
      return end != null || news.isOver(completed);
    }
  }

  /**
   * Waits until all ranks have completed the training. Rank 0 has {@linkplain #announce announced}
   * its address before, without which the others still wait in {@link #next}.
   *
   * @throws WorldChangedException if one was lost before: {@link #next} follows, and the state is
   *     handed to those that have not completed
   * @throws MembershipEndedException as {@link #next}
   * @throws IllegalStateException as {@link #next}
   * @throws InterruptedException if this thread is interrupted
   */
  public void finish() throws InterruptedException {
    synchronized (monitor) {
      if (news.broken == null) {
        link.trySend(new Message.Finished(step));
      }
      while (end == null && news.broken == null) {
        monitor.wait();
      }
      if (hasEnded(Reason.FINISHED)) {
        FinishNote.write(System.getenv());
        return;
      }
      requireNotEnded();
      throw new WorldChangedException(String.valueOf(news.broken));
    }
  }

  /**
   * Asks the coordinator to let this rank leave at the end of a step: {@link #commit} then returns
   * true on all ranks, and this one calls {@link #leave}. From any thread, for example of a signal.
   */
  public void requestLeave() {
    link.trySend(new Message.Leaving());
  }

  /**
   * Makes SIGTERM and SIGINT {@linkplain #requestLeave ask} to leave instead of ending this
   * process, which then has the time to. A second signal of the same kind ends it as usual.
   *
   * @param others names of more such signals without SIG, for example {@code USR1} as the warning
   *     of a cluster before it takes the machine away
   * @throws IllegalStateException if the JVM does not allow it, for example with {@code -Xrs}, or
   *     for a signal that the JVM uses itself
   */
  public void leaveOnTermination(String... others) {
    requireNonNull(others, "others");
    TerminationSignal.handle(Checks.copyOf("others", Arrays.asList(others)), this::requestLeave);
  }

  /**
   * Asks the coordinator for the events of the job, from now on; the first is how the current
   * generation was formed, if there is one. Refused connections are not among them.
   *
   * @param watcher called in a thread of this object; must not wait. Replaces the one before
   */
  public void watch(Consumer<CoordinatorEvent> watcher) {
    events.setWatcher(requireNonNull(watcher, "watcher"));
    link.trySend(new Message.Watch());
  }

  /** Leaves the job as planned; the other ranks continue without this one. */
  public void leave() {
    leave("");
  }

  /**
   * Leaves the job because this rank cannot continue; the others are notified at once.
   *
   * @param failure the reason
   */
  public void fail(String failure) {
    requireNonNull(failure, "failure");
    leave(failure.isBlank() ? "it failed" : failure);
  }

  private void leave(String failure) {
    MembershipEndedException left =
        new MembershipEndedException(Reason.LEFT, "this process has left the job");
    synchronized (monitor) {
      end = end == null ? left : end; // before the coordinator ends the connection for it
    }
    link.trySend(new Message.Left(failure));
    ended(left);
  }

  /**
   * Returns why the generation is no more.
   *
   * @return the reason; empty if its ranks still train together
   */
  public Optional<String> broken() {
    synchronized (monitor) {
      return end != null ? Optional.ofNullable(end.getMessage()) : Optional.ofNullable(news.broken);
    }
  }

  private void received(Message message) {
    if (message instanceof Message.Welcome welcome) {
      link.beat(Duration.ofMillis(welcome.beatMillis()), Duration.ofMillis(welcome.limitMillis()));
      synchronized (monitor) {
        isWelcome = true;
        monitor.notifyAll();
      }
    } else if (message instanceof Message.Ask) {
      link.trySend(new Message.Beat(step));
    } else if (message instanceof Message.Ended ended) {
      ended(MembershipEndedException.by(ended));
    } else if (!events.takes(message)) {
      Runnable action = WorldNews.NOTHING;
      synchronized (monitor) {
        news.take(message);
        if (news.broken != null) {
          action = news.takeAction();
        } else if (message instanceof Message.Pause m && news.isCurrent(m.generation())) {
          isEventful = true; // before the step is read: a commit after that looks at it
          long completed = step;
          news.at = OptionalLong.of(completed);
          link.trySend(new Message.At(m.generation(), completed));
        }
        isEventful |= news.broken != null;
        monitor.notifyAll();
      }
      action.run();
    }
  }

  private void ended(MembershipEndedException reason) {
    Runnable action;
    synchronized (monitor) {
      end = end == null ? reason : end;
      isEventful = true;
      action = news.takeAction();
      monitor.notifyAll();
    }
    if (reason.reason() != Reason.FINISHED) {
      action.run();
    }
  }

  @Override
  public void close() {
    boolean isForgotten;
    synchronized (monitor) {
      isForgotten = end == null && news.formed != null;
    }
    if (isForgotten) {
      LOGGER.log(Level.WARNING, "the other ranks lose this one: " + FORGOTTEN);
      link.trySend(new Message.Left(FORGOTTEN));
    }
    ended(closed);
    link.close();
  }
}
