// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.rendezvous;

import io.torchfeed.bindings.Facade;
import io.torchfeed.bindings.NativeException;
import io.torchfeed.bindings.NativeHandle;
import io.torchfeed.bindings.NativeProcessGroup;
import io.torchfeed.distributed.PeerLostException;
import io.torchfeed.internal.Sha256;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.OptionalInt;
import java.util.function.IntUnaryOperator;
import java.util.function.LongSupplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.bytedeco.javacpp.Loader;
import org.jspecify.annotations.Nullable;

/**
 * A prefix of the store under which the ranks of one group register, wait for each other, and
 * exchange the addresses at which they connect.
 */
public final class MeetingPoint {
  /** Extra time for the timeouts of the store and of Gloo, whose messages are more specific. */
  public static final Duration GRACE = Duration.ofMillis(500);

  /** Time in which rank 0 waits for others that still need the store. */
  public static final Duration MAX_LINGER = Duration.ofSeconds(10);

  private static final long MAX_BETWEEN_POLLS_MILLIS = 50;
  private static final String NAME = "ProcessGroup";
  private static final String OPTIONS = "the options of a group";

  /** Leaves most of the 8 KiB of a key to the rest. */
  private static final int MAX_PREFIX_LENGTH = 256;

  private final StoreConnection store;
  private final String prefix;
  private final Environment environment;
  private final String networkInterface;
  private final Duration timeout;
  private final long start;
  private final IntUnaryOperator number;

  /** Creates the meeting point of all ranks. */
  MeetingPoint(
      StoreConnection store,
      String prefix,
      Environment environment,
      String networkInterface,
      Duration timeout,
      long start) {
    this(store, prefix, environment, networkInterface, timeout, start, rank -> rank);
  }

  /**
   * Creates the meeting point of some ranks.
   *
   * @param environment the rank among them, and the master, which serves the store
   * @param start when the ranks began to wait, a value of {@link System#nanoTime}
   * @param number returns the number by which messages and exceptions name one of the ranks
   */
  public MeetingPoint(
      StoreConnection store,
      String prefix,
      Environment environment,
      String networkInterface,
      Duration timeout,
      long start,
      IntUnaryOperator number) {
    this.store = store;
    this.prefix = prefix;
    this.environment = environment;
    this.networkInterface = networkInterface;
    this.timeout = timeout;
    this.start = start;
    this.number = number;
  }

  /** Loads the classes that connecting needs. */
  public static void load() {
    Facade.load();
    Loader.load(NativeProcessGroup.class);
  }

  /** Returns the group of a single rank. */
  public static NativeHandle<NativeProcessGroup> alone() {
    return NativeHandle.create(NAME, () -> NativeProcessGroup.adopt(0, 0, 1));
  }

  String prefix() {
    return prefix;
  }

  /** Registers this rank; returns false if a process has done so before. */
  boolean register() {
    try {
      if (store.add(prefix + "rank/" + environment.rank(), 1) > 1) {
        return false;
      }
      store.add(prefix + "joined", 1);
      return true;
    } catch (NativeException e) {
      throw storeLost(e);
    }
  }

  /**
   * Tells the other ranks, from rank 0, the name of the job, its number of ranks, and its terms.
   */
  void announceJob(String terms) {
    try {
      store.set(prefix + "job", environment.job().getBytes(StandardCharsets.UTF_8));
      String ranks = Integer.toString(environment.worldSize());
      store.set(prefix + "ranks", ranks.getBytes(StandardCharsets.UTF_8));
      store.set(prefix + "terms", terms.getBytes(StandardCharsets.UTF_8));
    } catch (NativeException e) {
      throw storeLost(e);
    }
  }

  /**
   * Returns whether rank 0 expects as many ranks as this one, on the same terms; if not, lets all
   * ranks know.
   *
   * @param isReused whether the store may be an earlier attempt's
   * @param terms the description of the options that must be the same on all ranks
   * @throws IllegalStateException if rank 0 is of another job, and the store is its own
   */
  boolean isOfThisJob(boolean isReused, String terms) {
    try {
      String job = store.getText(prefix + "job");
      if (!isReused) {
        requireSameJob(job);
      }
      String conflict =
          conflict(
              "WORLD_SIZE",
              store.getText(prefix + "ranks"),
              String.valueOf(environment.worldSize()));
      if (conflict.isEmpty()) {
        conflict = conflict(OPTIONS, store.getText(prefix + "terms"), terms);
      }
      if (conflict.isEmpty()) {
        return true;
      }
      store.set(prefix + "conflict", conflict.getBytes(StandardCharsets.UTF_8));
      return false;
    } catch (NativeException e) {
      throw storeLost(e);
    }
  }

  /** Returns an error if this rank has another value than rank 0; else an empty text. */
  private String conflict(String what, String first, String mine) {
    return first.equals(mine)
        ? ""
        : "%s must be the same on all ranks, got %s on rank 0, %s on rank %d"
            .formatted(what, first, mine, environment.rank());
  }

  /** Returns an error if the first rank that called this has other terms; else an empty text. */
  String disagreement(String terms) {
    String mine = terms + " on rank " + number.applyAsInt(environment.rank());
    try {
      byte[] first =
          store.compareSet(prefix + "terms", new byte[0], mine.getBytes(StandardCharsets.UTF_8));
      String theirs = new String(first, StandardCharsets.UTF_8);
      return theirs.startsWith(terms + " ")
          ? ""
          : OPTIONS + " must be the same on all ranks, got " + theirs + ", " + mine;
    } catch (NativeException e) {
      throw storeLost(e);
    }
  }

  static boolean isDisagreement(String text) {
    return text.startsWith(OPTIONS);
  }

  private void requireSameJob(String job) {
    if (!job.equals(environment.job())) {
      throw new IllegalStateException(
          "the port %s is used by %s, and this is %s; each job needs a port of its own"
              .formatted(environment.master(), named(job), named(environment.job())));
    }
  }

  private static String named(String job) {
    return job.isEmpty() ? "a job without a name" : "job " + job;
  }

  /**
   * Throws if a rank expects another number of ranks or has other terms; rank 0, which may serve
   * the store, waits for the others to read it.
   *
   * @throws IllegalArgumentException if so; names both
   */
  void requireAgreement() {
    try {
      if (!store.isSet(prefix + "conflict")) {
        return;
      }
      String conflict = store.getText(prefix + "conflict");
      if (environment.rank() == 0) {
        Duration left = timeout.minusNanos(System.nanoTime() - start);
        linger(
            () -> store.add(prefix + "told", 0),
            environment.worldSize() - 1,
            left.compareTo(MAX_LINGER) < 0 ? left : MAX_LINGER);
      } else {
        store.add(prefix + "told", 1);
      }
      throw new IllegalArgumentException(conflict);
    } catch (NativeException e) {
      throw storeLost(e);
    }
  }

  /**
   * Lets rank 0, which may serve the store, wait a while until the others need it no more.
   *
   * @param done returns the number of ranks that do not
   * @return whether all of them do not
   */
  public static boolean linger(LongSupplier done, long ranks, Duration limit) {
    long start = System.nanoTime();
    while (done.getAsLong() < ranks) {
      if (System.nanoTime() - start >= limit.toNanos()) {
        return false;
      }
      Rendezvous.sleep(1);
    }
    return true;
  }

  /** Waits until all ranks have registered; calls {@code eachTime} while it waits. */
  void awaitAll(Runnable eachTime) {
    try {
      for (long pause = 1; joined() < environment.worldSize(); pause = nextPause(pause)) {
        eachTime.run();
        if (System.nanoTime() - start > timeout.toNanos()) {
          throw missingRanks();
        }
        Rendezvous.sleep(pause);
      }
    } catch (NativeException e) {
      throw storeLost(e);
    }
  }

  void complete() {
    try {
      store.set(prefix + "complete", new byte[0]);
    } catch (NativeException e) {
      throw storeLost(e);
    }
  }

  boolean isComplete() {
    try {
      return store.isSet(prefix + "complete");
    } catch (NativeException e) {
      throw storeLost(e);
    }
  }

  /** Connects to all ranks, once all have arrived. */
  NativeHandle<NativeProcessGroup> connect() {
    return connect(prefix + "gloo", /* hasPythonRanks= */ false);
  }

  /** Connects to all ranks, some of them Python's; waits for them. */
  NativeHandle<NativeProcessGroup> connectWithPython() {
    return connect(PythonProtocol.GLOO_PREFIX, /* hasPythonRanks= */ true);
  }

  private NativeHandle<NativeProcessGroup> connect(String keys, boolean hasPythonRanks) {
    String host = environment.masterAddress();
    String address = host.equals("localhost") ? "127.0.0.1" : host;
    try {
      return store
          .handle()
          .call(
              shared ->
                  NativeHandle.create(
                      NAME,
                      () ->
                          NativeProcessGroup.connect(
                              shared.address(),
                              keys,
                              environment.rank(),
                              environment.worldSize(),
                              timeout.toMillis(),
                              environment.isLoopback() ? address : "",
                              networkInterface,
                              hasPythonRanks)));
    } catch (NativeException e) {
      String reason = "the ranks met at " + environment.master() + " but cannot connect";
      throw failure(start, reason + " (" + e.getMessage() + ")", e);
    }
  }

  PeerLostException missingRanks() {
    List<Integer> missing;
    try {
      missing =
          IntStream.range(0, environment.worldSize())
              .filter(rank -> !store.isSet(prefix + "rank/" + rank))
              .map(number)
              .boxed()
              .toList();
    } catch (NativeException e) { // rank 0 has given up first and ended the store
      return storeLost(e);
    }
    String reason =
        environment.worldSize()
            - missing.size()
            + " of "
            + environment.worldSize()
            + " ranks reached "
            + environment.master()
            + ", missing "
            + missing.stream().map(String::valueOf).collect(Collectors.joining(", "));
    return failure(start, reason, null);
  }

  /** Returns the exception for a rank that does not come any more. */
  PeerLostException withoutRank(int rank, String reason) {
    return LossNote.lost(
        "rendezvous", start, OptionalInt.of(number.applyAsInt(rank)), reason, null);
  }

  private long joined() {
    return store.add(prefix + "joined", 0);
  }

  PeerLostException storeLost(NativeException e) {
    return storeLost(environment, start, e);
  }

  static PeerLostException storeLost(Environment environment, long start, NativeException e) {
    return failure(
        start, "the store at " + environment.master() + " was lost (" + e.getMessage() + ")", e);
  }

  static PeerLostException failure(long start, String reason, @Nullable Exception cause) {
    return LossNote.lost("rendezvous", start, OptionalInt.empty(), reason, cause);
  }

  /**
   * Returns the prefix of the keys of a sub-group: names, or if they are long, a digest of them.
   * The name of a sub-group has the numbers of its ranks, and follows the names of the groups
   * around.
   */
  public static String prefix(String names) {
    if (names.length() <= MAX_PREFIX_LENGTH) {
      return names;
    }
    return "torchfeed/digest/" + Sha256.hex(names) + "/";
  }

  static long nextPause(long pause) {
    return Math.min(2 * pause, MAX_BETWEEN_POLLS_MILLIS);
  }
}
