// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.rendezvous;

import io.torchfeed.bindings.NativeException;
import io.torchfeed.bindings.NativeHandle;
import io.torchfeed.bindings.NativeProcessGroup;
import io.torchfeed.sampler.Part;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.TimeoutException;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;

/**
 * The meeting of ranks that are connected already and form a sub-group. It ends for all of them
 * once one does not come any more.
 *
 * <p>They act on one verdict in the store, which the first to know it writes: all have come, a rank
 * has left, or two ranks disagree. A rank that leaves after the first of these still connects, so
 * that none waits for it.
 */
public final class SubgroupMeeting {
  private static final String ALL = "all";
  private static final Duration LOST_AFTER = Duration.ofSeconds(1);

  private final MeetingPoint point;
  private final StoreConnection store;
  private final String verdictKey;
  private final Part part;
  private final String terms;
  private final Duration timeout;
  private final IntPredicate isLost;
  private final long start = System.nanoTime();
  private volatile boolean isConnecting;

  /**
   * Prepares a meeting.
   *
   * @param part this rank in the sub-group
   * @param terms the description of the options that must be the same on all its ranks
   * @param timeout how long to wait for the others
   * @param isLost whether the connection to a rank of the sub-group is known to be lost
   */
  public SubgroupMeeting(
      MeetingPoint point,
      StoreConnection store,
      Part part,
      String terms,
      Duration timeout,
      IntPredicate isLost) {
    this.point = point;
    this.store = store;
    verdictKey = point.prefix() + "verdict";
    this.part = part;
    this.terms = terms;
    this.timeout = timeout;
    this.isLost = isLost;
  }

  /**
   * Registers, and connects once all ranks have.
   *
   * @param requireOpen called again and again while this waits; throws to leave
   * @throws IllegalStateException if the thread is interrupted, with that exception as its cause
   */
  public NativeHandle<NativeProcessGroup> await(Runnable requireOpen) {
    StoreConnection shared = store.share(); // this rank's verdict comes after the caller has left
    TimeLimitedCall<NativeHandle<NativeProcessGroup>> call =
        new TimeLimitedCall<>(
            "torchfeed-subgroup",
            () -> {
              try {
                return meet();
              } finally {
                shared.release();
              }
            },
            NativeHandle::close);
    try {
      return call.await(
          timeout.plus(MeetingPoint.GRACE),
          () -> {
            requireOpen.run();
            requireLivingPeers();
          });
    } catch (TimeoutException e) {
      throw MeetingPoint.failure(start, "the store or a rank does not respond", e);
    } catch (OutOfMemoryError e) { // the thread could not be started
      shared.release();
      throw e;
    }
  }

  private NativeHandle<NativeProcessGroup> meet() {
    String disagreement = point.disagreement(terms);
    if (!disagreement.isEmpty()) {
      requireAll(verdict(disagreement));
    }
    try {
      point.register();
      point.awaitAll(this::requireAllComing);
    } catch (IllegalStateException e) { // the caller has left and interrupted this thread
      if (!verdict(String.valueOf(part.rank())).equals(ALL)) {
        throw e;
      }
    }
    requireAll(verdict(ALL));
    isConnecting = true;
    return point.connect();
  }

  /** Throws if a rank has left, or is lost and so never gives a verdict. */
  private void requireAllComing() {
    String verdict = verdict("");
    if (!verdict.isEmpty()) {
      requireAll(verdict);
    } else if (System.nanoTime() - start > LOST_AFTER.toNanos()) {
      IntStream lost = IntStream.range(0, part.worldSize()).filter(isLost);
      lost.findFirst().ifPresent(rank -> requireAll(verdict(String.valueOf(rank))));
    }
  }

  /** Throws if a rank is lost while the others wait in native code to connect to it. */
  private void requireLivingPeers() {
    if (isConnecting) {
      IntStream.range(0, part.worldSize())
          .filter(isLost)
          .findFirst()
          .ifPresent(
              rank -> {
                throw point.withoutRank(rank, "the connection to it has ended");
              });
    }
  }

  private void requireAll(String verdict) {
    if (MeetingPoint.isDisagreement(verdict)) {
      throw new IllegalArgumentException(verdict);
    }
    if (!verdict.equals(ALL)) {
      throw point.withoutRank(
          Integer.parseInt(verdict),
          "it has left: its process has ended, its group was closed or aborted, or its thread"
              + " interrupted");
    }
  }

  /** Gives a verdict unless there is one; returns the one that counts, or "" if none is given. */
  private String verdict(String mine) {
    try {
      byte[] verdict =
          store.compareSet(verdictKey, new byte[0], mine.getBytes(StandardCharsets.UTF_8));
      return new String(verdict, StandardCharsets.UTF_8);
    } catch (NativeException e) {
      throw point.storeLost(e);
    }
  }
}
