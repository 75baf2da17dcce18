// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import io.torchfeed.bindings.LogFilter;
import io.torchfeed.bindings.NativeException;
import io.torchfeed.bindings.NativeHandle;
import io.torchfeed.bindings.torchfeed;
import io.torchfeed.sampler.Part;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.concurrent.TimeoutException;
import org.bytedeco.javacpp.Loader;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.javacpp.chrono.Milliseconds;
import org.bytedeco.pytorch.GlooDeviceVector;
import org.bytedeco.pytorch.IntOptional;
import org.bytedeco.pytorch.PrefixStore;
import org.bytedeco.pytorch.ProcessGroupGloo;
import org.bytedeco.pytorch.Store;
import org.bytedeco.pytorch.StringVector;
import org.bytedeco.pytorch.TCPStore;
import org.bytedeco.pytorch.TCPStoreOptions;
import org.bytedeco.pytorch.gloo.Device;
import org.jspecify.annotations.Nullable;

/**
 * The procedure by which the ranks connect: first to a store on the master, then to each other in a
 * Gloo mesh.
 *
 * <p>The store, which the master serves, stays open until {@link #close}: a rank may be connected
 * while others still read from the store.
 */
final class Rendezvous implements AutoCloseable {
  private static final String ROOT = "torchfeed/";
  private static final long MAX_BETWEEN_POLLS_MILLIS = 50;

  /** Extra time for the timeouts of the store and of Gloo, whose messages are more specific. */
  private static final Duration GRACE = Duration.ofMillis(500);

  private final Environment environment;
  private final Part part;
  private final Map<String, String> variables;
  private final Duration timeout;
  private volatile long start;
  private volatile List<Store> kept = List.of();

  Rendezvous(Environment environment, Map<String, String> variables, Duration timeout) {
    this.environment = environment;
    this.part = environment.part();
    this.variables = variables;
    this.timeout = timeout;
  }

  /**
   * The group of a rank once all ranks are connected.
   *
   * @param group the native group
   * @param backend the address of the {@code c10d::Backend} that the group owns; 0 if there is only
   *     one rank
   */
  record Joined(NativeHandle<io.torchfeed.bindings.ProcessGroup> group, long backend) {}

  /** Joins the group; returns once all ranks are connected. */
  Joined join() {
    if (part.worldSize() == 1) {
      return new Joined(
          NativeHandle.create(
              "ProcessGroup",
              () -> io.torchfeed.bindings.ProcessGroup.adopt(0, part.rank(), part.worldSize())),
          0);
    }
    Loader.load(org.bytedeco.pytorch.presets.torch_gloo.class);
    start = System.nanoTime(); // after loading: with a cold page cache it can take seconds
    try {
      // Not every wait inside the store and Gloo has a timeout.
      return new TimeLimitedCall<>("torchfeed-rendezvous", this::meet, this::undo)
          .await(timeout.plus(GRACE));
    } catch (TimeoutException e) {
      throw failure("the store at " + environment.master() + " or a rank does not respond", e);
    }
  }

  /** Closes a group that was connected after the caller had stopped waiting. */
  private void undo(Joined joined) {
    joined.group().close();
    close();
  }

  /** Closes the store; on the master for all ranks, which must have completed the rendezvous. */
  @Override
  public void close() {
    List<Store> stores = kept;
    kept = List.of();
    stores.forEach(Store::close);
  }

  private Joined meet() {
    try (PointerScope scope = new PointerScope()) {
      TCPStore server = openStore();
      Store store = new PrefixStore(ROOT + environment.attempt(), server);
      awaitAllRanks(store);
      ProcessGroupGloo backend = connect(store);
      long address = backend.address();
      NativeHandle<io.torchfeed.bindings.ProcessGroup> group =
          NativeHandle.create(
              "ProcessGroup", // shares the backend
              () ->
                  io.torchfeed.bindings.ProcessGroup.adopt(address, part.rank(), part.worldSize()));
      // Keep both: with only the prefix store, the server was observed to shut down while other
      // ranks were still reading from it.
      kept = List.of(store, server);
      for (Store needed : kept) {
        needed.retainReference(); // detach gives up one reference
        scope.detach(needed);
      }
      return new Joined(group, address);
    }
  }

  private TCPStore openStore() {
    if (part.rank() != 0 || environment.isStoreServedElsewhere()) {
      awaitMaster();
    }
    TCPStoreOptions options =
        new TCPStoreOptions()
            .port((short) environment.masterPort()) // an unsigned 16-bit value in native code
            .isServer(part.rank() == 0 && !environment.isStoreServedElsewhere())
            .waitWorkers(false)
            .timeout(new Milliseconds(timeout.toMillis()));
    if (options.isServer() && environment.isLoopback()) {
      options.masterListenFd(new IntOptional(listenOnLoopback()));
    }
    try {
      return new TCPStore(environment.masterAddress(), options);
    } catch (RuntimeException e) {
      throw nativeFailure(
          "the store at " + environment.master() + " cannot be reached or served", e);
    }
  }

  private void awaitMaster() {
    try {
      StoreProbe.await(environment.masterAddress(), environment.masterPort(), timeout);
    } catch (IOException e) {
      throw failure("no process serves the store at " + environment.master() + ": " + e, e);
    }
  }

  /** Opens a socket, owned by the store, which would otherwise listen on all interfaces. */
  private int listenOnLoopback() {
    try {
      return torchfeed.listen_on_loopback(environment.masterAddress(), environment.masterPort());
    } catch (RuntimeException e) {
      throw NativeException.translate(e);
    }
  }

  private void awaitAllRanks(Store store) {
    try {
      if (store.add("rank/" + part.rank(), 1) > 1) {
        throw new IllegalStateException(
            "RANK "
                + part.rank()
                + " is already taken by another process at "
                + environment.master()
                + "; each process needs its own RANK");
      }
      long joined = store.add("joined", 1);
      for (long pause = 1; joined < part.worldSize(); pause = nextPause(pause)) {
        if (System.nanoTime() - start > timeout.toNanos()) {
          throw failure(missingRanks(store, joined), null);
        }
        sleep(pause);
        joined = store.add("joined", 0);
      }
    } catch (PeerLostException | IllegalStateException e) {
      throw e;
    } catch (RuntimeException e) {
      throw nativeFailure("the store at " + environment.master() + " was lost", e);
    }
  }

  private ProcessGroupGloo connect(Store store) {
    try {
      ProcessGroupGloo.Options options =
          ProcessGroupGloo.Options.create(new Milliseconds(timeout.toMillis()));
      options.devices(new GlooDeviceVector(device()));
      try (LogFilter announcements = LogFilter.create()) {
        return new ProcessGroupGloo(store, part.rank(), part.worldSize(), options);
      }
    } catch (RuntimeException e) {
      throw nativeFailure("the ranks met at " + environment.master() + " but cannot connect", e);
    }
  }

  private Device device() {
    @Nullable String networkInterface = variables.get("GLOO_SOCKET_IFNAME");
    if (environment.isLoopback()) {
      String host = environment.masterAddress();
      return ProcessGroupGloo.createDeviceForHostname(
          host.equals("localhost") ? "127.0.0.1" : host);
    }
    return networkInterface == null || networkInterface.isBlank()
        ? ProcessGroupGloo.createDefaultDevice()
        : ProcessGroupGloo.createDeviceForInterface(networkInterface);
  }

  private String missingRanks(Store store, long joined) {
    List<String> missing = new ArrayList<>();
    for (int rank = 0; rank < part.worldSize(); rank++) {
      if (!store.check(new StringVector("rank/" + rank))) {
        missing.add(Integer.toString(rank));
      }
    }
    return joined
        + " of "
        + part.worldSize()
        + " ranks reached "
        + environment.master()
        + ", missing "
        + String.join(", ", missing);
  }

  private PeerLostException nativeFailure(String reason, RuntimeException cause) {
    return failure(reason + " (" + NativeException.translate(cause).getMessage() + ")", cause);
  }

  private PeerLostException failure(String reason, @Nullable Exception cause) {
    return PeerLostException.noted("rendezvous", start, OptionalInt.empty(), reason, cause);
  }

  private static long nextPause(long pause) {
    return Math.min(2 * pause, MAX_BETWEEN_POLLS_MILLIS);
  }

  static void sleep(long millis) {
    try {
      Thread.sleep(millis);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted while waiting for the other ranks", e);
    }
  }
}
