// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.elastic;

import static java.util.Objects.requireNonNull;

import io.torchfeed.distributed.GroupOptions;
import io.torchfeed.distributed.Master;
import io.torchfeed.distributed.PeerLostException;
import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.distributed.membership.Membership;
import io.torchfeed.distributed.membership.World;
import io.torchfeed.distributed.membership.WorldChangedException;
import io.torchfeed.internal.Failures;
import io.torchfeed.sampler.Part;
import io.torchfeed.training.steps.PlanAgreement;
import java.time.Duration;
import java.util.Optional;
import java.util.OptionalInt;
import org.jspecify.annotations.Nullable;

/**
 * The process group of one generation of ranks; for a loop of your own, where a {@link
 * io.torchfeed.training.TrainingLoop} over {@link ElasticRanks} does not fit.
 *
 * <pre>{@code
 * String reason = "";
 * while (true) {
 *   Optional<ElasticGroup> next = ElasticGroup.next(membership, GroupOptions.defaults(), reason);
 *   if (next.isEmpty()) {
 *     break; // the others have completed the training
 *   }
 *   try (ElasticGroup ranks = next.get()) {
 *     StateTransfer.broadcast(state, ranks.group(), 0);
 *     boolean isChanged = membership.commit(step); // this rank holds the state
 *     while (!isChanged && step < lastStep) {
 *       train(ranks); // one step
 *       isChanged = membership.commit(++step);
 *     }
 *     if (!isChanged) {
 *       membership.finish(); // without it, this rank counts as lost when it closes
 *       break;
 *     }
 *     reason = "";
 *   } catch (RuntimeException e) {
 *     if (!next.get().isBrokenBy(e)) {
 *       membership.fail(e.toString()); // tells the other ranks why
 *       throw e;
 *     }
 *     reason = e.toString(); // and back to the state of the last commit
 *   }
 * }
 * }</pre>
 *
 * <p>Rank 0 listens at a port that the system chooses, and the coordinator passes it on. When the
 * generation breaks, the group is aborted. {@link #close} closes it, with no effect the second
 * time. Thread-safe.
 */
public final class ElasticGroup implements AutoCloseable {
  private final Membership membership;
  private final World world;
  private final ProcessGroup group;

  private ElasticGroup(Membership membership, World world, ProcessGroup group) {
    this.membership = membership;
    this.world = world;
    this.group = group;
  }

  /**
   * Loads and runs the code by which a rank enters a generation, with two ranks in this process, so
   * that others do not wait for that. {@link #next} does it too, but only once in a process; so a
   * process that waits before it joins the job calls this method first.
   *
   * @throws InterruptedException if this thread is interrupted
   */
  public static void rehearse() throws InterruptedException {
    Rehearsal.once();
  }

  /**
   * Waits for the next generation and joins its group. If a rank is lost meanwhile, waits for the
   * one after it.
   *
   * @param membership this process's place in the job; borrowed
   * @param options of the group, the same on all ranks
   * @param reason why this rank left the previous generation in mid-step; empty if {@link
   *     Membership#commit} returned true, and on the first call
   * @return the group, connected to all ranks, which the caller closes; empty if the job has been
   *     completed
   * @throws io.torchfeed.distributed.membership.MembershipEndedException if this process can no
   *     longer take part, or has asked to leave
   * @throws IllegalStateException if this rank cannot listen at the address by which it reaches the
   *     coordinator, or cannot use its device
   * @throws InterruptedException if this thread is interrupted
   */
  public static Optional<ElasticGroup> next(
      Membership membership, GroupOptions options, String reason) throws InterruptedException {
    requireNonNull(membership, "membership");
    requireNonNull(options, "options");
    String why = requireNonNull(reason, "reason");
    Rehearsal.once();
    while (true) {
      Optional<World> next = membership.next(why);
      if (next.isEmpty()) {
        return Optional.empty();
      }
      Joining joining = new Joining(membership);
      membership.whenBroken(joining::abort);
      try {
        return Optional.of(
            new ElasticGroup(
                membership, next.get(), joining.join(membership, next.get(), options)));
      } catch (RuntimeException e) {
        if (!isBroken(membership, e)) {
          if (Thread.interrupted()) {
            throw new InterruptedException("interrupted while joining the ranks");
          }
          throw e;
        }
        why = Failures.describe(e);
      }
    }
  }

  /** A group that may be aborted while it is joined. */
  private static final class Joining {
    private final Membership membership;
    private final Thread thread = Thread.currentThread();

    // Guarded by this.
    private @Nullable ProcessGroup group;
    private boolean isJoining = true;
    private boolean isAborted;

    Joining(Membership membership) {
      this.membership = membership;
    }

    synchronized void abort() {
      isAborted = true;
      if (group != null) {
        abort(membership, group);
      } else if (isJoining) {
        thread.interrupt(); // no other way out of the rendezvous
      }
    }

    private static void abort(Membership membership, ProcessGroup group) {
      try {
        group.abort(
            new PeerLostException(
                "the generation",
                Duration.ZERO,
                OptionalInt.empty(),
                membership.broken().orElse("the job has ended"),
                null));
      } catch (IllegalStateException e) {
        // closed meanwhile: no wait is left to be ended
      }
    }

    ProcessGroup join(Membership membership, World world, GroupOptions options) {
      Part part = new Part(world.size(), world.rank());
      try (Master master = master(membership, world)) {
        return joined(ProcessGroup.join(master, part, options));
      } finally {
        ended();
      }
    }

    private static Master master(Membership membership, World world) {
      if (world.rank() > 0) {
        return Master.at(world.host(), world.port());
      }
      Master master = Master.listen(world.host());
      membership.announce(world.host(), master.port());
      return master;
    }

    private synchronized ProcessGroup joined(ProcessGroup joined) {
      group = joined;
      if (isAborted) {
        abort(membership, joined);
      }
      return joined;
    }

    private synchronized void ended() {
      isJoining = false;
      if (isAborted) {
        Thread.interrupted(); // by the abort, which is known by now
      }
    }
  }

  /**
   * Returns the place of this rank in its generation.
   *
   * @return its rank is {@code group().rank()}
   */
  public World world() {
    return world;
  }

  /**
   * Returns the group.
   *
   * @return closed by this object
   */
  public ProcessGroup group() {
    return group;
  }

  /**
   * Returns whether a failure came from the end of this generation, so that {@link #next} follows;
   * else it is one of the program. A failure of the program while the generation ends counts as the
   * former: it occurs again in the next one. If it came from there, the group is aborted: an
   * operation that is still in flight would otherwise wait for the timeout.
   *
   * @param failure thrown by an operation of the group, a step, or {@link Membership#finish}
   * @return whether a rank was lost, failed, or has left the generation
   */
  public boolean isBrokenBy(RuntimeException failure) {
    requireNonNull(failure, "failure");
    boolean isBroken = isBroken(membership, failure);
    if (isBroken) {
      Joining.abort(membership, group);
    }
    return isBroken;
  }

  private static boolean isBroken(Membership membership, RuntimeException failure) {
    return failure instanceof PeerLostException
        || failure instanceof WorldChangedException
        || failure instanceof PlanAgreement.OthersDifferException
        || (membership.broken().isPresent()
            && !(failure instanceof PlanAgreement.ThisDiffersException));
  }

  @Override
  public void close() {
    group.close();
  }
}
