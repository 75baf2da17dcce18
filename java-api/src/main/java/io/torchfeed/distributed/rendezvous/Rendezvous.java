// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.rendezvous;

import io.torchfeed.bindings.Facade;
import io.torchfeed.bindings.NativeException;
import io.torchfeed.bindings.NativeHandle;
import io.torchfeed.bindings.NativeProcessGroup;
import io.torchfeed.bindings.torchfeed;
import io.torchfeed.distributed.CollectiveInterruptedException;
import io.torchfeed.distributed.PeerLostException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.OptionalInt;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * The procedure by which the ranks connect: first to a store on the master, then to each other in a
 * Gloo mesh.
 *
 * <p>In the store of torchrun's agent, keys of earlier attempts remain, and the agents of several
 * machines may count attempts differently. Rank 0 therefore announces a new generation. Each rank
 * registers under the announced generation, and again if rank 0 announces another. When all are
 * counted, rank 0 marks it complete. Python's ranks do none of this: with them, the ranks connect
 * at once, under the keys that they use.
 */
public final class Rendezvous {
  private static final String ROOT = "torchfeed/";
  private static final String GENERATION = ROOT + "generation";

  private final Environment environment;
  private final String networkInterface;
  private final OptionalInt listener;
  private final boolean hasPythonRanks;
  private final String terms;
  private final Duration timeout;
  private volatile long start;

  /**
   * Prepares a rendezvous.
   *
   * @param networkInterface the one to use unless the master is on the loopback interface; empty
   *     for the interface of this machine's name
   * @param listener rank 0's listening socket, owned from here on; empty to open one
   * @param hasPythonRanks whether the ranks meet as Python's do
   * @param terms the description, in ASCII, of the options that must be the same on all ranks
   */
  public Rendezvous(
      Environment environment,
      String networkInterface,
      OptionalInt listener,
      boolean hasPythonRanks,
      String terms,
      Duration timeout) {
    this.environment = environment;
    this.networkInterface = networkInterface;
    this.listener = listener;
    this.hasPythonRanks = hasPythonRanks;
    this.terms = terms;
    this.timeout = timeout;
  }

  /**
   * The group of a rank once all ranks are connected.
   *
   * @param store the connection to the store, to be released; null if there is only one rank
   * @param prefix the beginning of the keys of the group
   * @param hasPythonRanks whether there may be ranks of Python
   * @param isPart whether it is a sub-group
   */
  public record Joined(
      NativeHandle<NativeProcessGroup> group,
      @Nullable StoreConnection store,
      String prefix,
      boolean hasPythonRanks,
      boolean isPart) {
    void close() {
      group.close();
      if (store != null) {
        store.release();
      }
    }
  }

  /** Joins the group; returns once all ranks are connected. */
  public Joined join() {
    if (environment.worldSize() == 1) {
      listener.ifPresent(torchfeed::close_listener);
      return new Joined(MeetingPoint.alone(), null, ROOT, false, false);
    }
    MeetingPoint.load();
    start = System.nanoTime(); // after loading: with a cold page cache it can take seconds
    try {
      // Not every wait inside the store and Gloo has a timeout.
      return new TimeLimitedCall<>("torchfeed-rendezvous", this::meet, Joined::close)
          .await(timeout.plus(MeetingPoint.GRACE));
    } catch (TimeoutException e) {
      throw failure("the store at " + environment.master() + " or a rank does not respond", e);
    }
  }

  private Joined meet() {
    StoreConnection store = openStore();
    try {
      if (hasPythonRanks) {
        MeetingPoint point = point(store, PythonProtocol.STORE_PREFIX);
        return new Joined(point.connectWithPython(), store, point.prefix(), true, false);
      }
      MeetingPoint point = environment.rank() == 0 ? lead(store) : follow(store);
      return new Joined(point.connect(), store, point.prefix(), false, false);
    } catch (RuntimeException | Error e) {
      store.release();
      throw e;
    }
  }

  private StoreConnection openStore() {
    boolean isServer = environment.rank() == 0 && !environment.isStoreServedElsewhere();
    String host = environment.masterAddress();
    int port = environment.masterPort();
    if (!isServer) {
      listener.ifPresent(torchfeed::close_listener);
      awaitMaster();
    }
    int workers = hasPythonRanks ? environment.worldSize() : 0;
    OptionalInt socket = isServer && listener.isEmpty() ? listenOnLoopback() : listener;
    try {
      return isServer
          ? StoreConnection.serve(host, port, socket, workers, timeout)
          : StoreConnection.connect(host, port, workers, timeout);
    } catch (NativeException e) {
      String reason = "the store at " + environment.master() + " cannot be reached or served";
      throw failure(reason + " (" + e.getMessage() + ")", e);
    }
  }

  private void awaitMaster() {
    try {
      StoreProbe.await(environment.masterAddress(), environment.masterPort(), timeout);
    } catch (IOException e) {
      throw failure("no process serves the store at " + environment.master() + ": " + e, e);
    }
  }

  /** Opens a socket for the store, which would otherwise listen on all interfaces. */
  private OptionalInt listenOnLoopback() {
    if (!environment.isLoopback()) {
      return OptionalInt.empty();
    }
    Facade.load();
    try {
      return OptionalInt.of(
          torchfeed.listen_on_loopback(environment.masterAddress(), environment.masterPort()));
    } catch (RuntimeException e) {
      throw NativeException.translate(e);
    }
  }

  /** Announces a generation, and completes it once all ranks have registered. */
  private MeetingPoint lead(StoreConnection store) {
    byte[] random = new byte[8];
    new SecureRandom().nextBytes(random);
    String generation = HexFormat.of().formatHex(random);
    MeetingPoint point = point(store, ROOT + generation + "/");
    point.register();
    point.announceJob(terms);
    store.set(GENERATION, generation.getBytes(StandardCharsets.UTF_8));
    point.awaitAll(
        () -> {
          if (!generation.equals(generation(store))) {
            throw taken();
          }
          point.requireAgreement();
        });
    point.complete();
    return point;
  }

  /** Registers in each generation that rank 0 announces, until it completes one. */
  private MeetingPoint follow(StoreConnection store) {
    @Nullable MeetingPoint point = null;
    String registered = "";
    boolean isTaken = false;
    boolean isOther = false; // an earlier attempt with other terms
    for (long pause = 1; ; pause = MeetingPoint.nextPause(pause)) {
      String generation = generation(store);
      if (!generation.equals(registered)) {
        point = point(store, ROOT + generation + "/");
        isOther = !point.isOfThisJob(environment.isStoreServedElsewhere(), terms);
        isTaken = !isOther && !point.register(); // by an earlier attempt, if its keys remain
        registered = generation;
        pause = 1;
      }
      if (point == null && !environment.isStoreServedElsewhere()) {
        requireNoOtherProgram(store);
      }
      if (point != null && !isTaken && !isOther && point.isComplete()) {
        return point;
      }
      if (isTaken && !environment.isStoreServedElsewhere()) {
        throw taken();
      }
      if (point != null && !environment.isStoreServedElsewhere()) {
        point.requireAgreement();
      }
      if (System.nanoTime() - start > timeout.toNanos()) {
        if (isTaken) {
          throw taken();
        }
        if (point != null) {
          point.requireAgreement();
        }
        throw point == null
            ? failure("rank 0 has not reached " + environment.master(), null)
            : point.missingRanks();
      }
      sleep(pause);
    }
  }

  /** Returns the generation that rank 0 has announced last; empty if none. */
  private String generation(StoreConnection store) {
    try {
      return store.isSet(GENERATION) ? store.getText(GENERATION) : "";
    } catch (NativeException e) {
      throw MeetingPoint.storeLost(environment, start, e);
    }
  }

  /**
   * Throws if the store has keys though rank 0 has announced nothing, as a Python program's has. It
   * counts its processes in a key that it does not list.
   */
  private void requireNoOtherProgram(StoreConnection store) {
    try {
      long all = store.size(); // before those listed, since rank 0 may be adding keys
      List<String> listed = store.keys("");
      List<String> others = listed.stream().filter(key -> !key.startsWith(ROOT)).sorted().toList();
      if (all > listed.size() || !others.isEmpty()) {
        String example = others.isEmpty() ? "" : " (it has the key '" + others.get(0) + "')";
        throw new IllegalStateException(
            "the port "
                + environment.master()
                + " is used by the store of another program, such as Python's ranks"
                + example
                + "; each job needs a port of its own, and Java's ranks join Python's by"
                + " PythonProcessGroup");
      }
    } catch (NativeException e) {
      throw MeetingPoint.storeLost(environment, start, e);
    }
  }

  private MeetingPoint point(StoreConnection store, String prefix) {
    return new MeetingPoint(store, prefix, environment, networkInterface, timeout, start);
  }

  private IllegalStateException taken() {
    return new IllegalStateException(
        "RANK "
            + environment.rank()
            + " is already taken by another process at "
            + environment.master()
            + "; each process needs its own RANK");
  }

  private PeerLostException failure(String reason, @Nullable Exception cause) {
    return MeetingPoint.failure(start, reason, cause);
  }

  public static void sleep(long millis) {
    try {
      Thread.sleep(millis);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw CollectiveInterruptedException.ofWait(e);
    }
  }
}
