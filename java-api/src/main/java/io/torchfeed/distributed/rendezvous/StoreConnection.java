// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.rendezvous;

import io.torchfeed.bindings.Facade;
import io.torchfeed.bindings.LogFilter;
import io.torchfeed.bindings.NativeException;
import io.torchfeed.bindings.NativeHandle;
import io.torchfeed.bindings.torchfeed;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.OptionalInt;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.javacpp.SizeTPointer;
import org.bytedeco.javacpp.chrono.Milliseconds;
import org.bytedeco.pytorch.ByteVector;
import org.bytedeco.pytorch.IntOptional;
import org.bytedeco.pytorch.Store;
import org.bytedeco.pytorch.StringVector;
import org.bytedeco.pytorch.TCPStoreOptions;
import org.jspecify.annotations.Nullable;

/**
 * The connection of this process to the store of all ranks, and on the master the store itself. A
 * group shares it with its sub-groups; the last one that {@linkplain #release releases} it closes
 * it.
 *
 * <p>Thread-safe. No call waits for another rank, since the store serves one call at a time.
 */
public final class StoreConnection {
  private static final String THREAD = "torchfeed-store";

  private final NativeHandle<Store> handle;
  private final AtomicInteger owners = new AtomicInteger(1);
  private final ThreadPoolExecutor caller = TimeLimitedCall.executor(THREAD);

  private StoreConnection(NativeHandle<Store> handle) {
    this.handle = handle;
  }

  /**
   * Connects to the store of another process; fails as libtorch does.
   *
   * @param workers the number of processes that the server waits for; 0 if it waits for none
   */
  static StoreConnection connect(String host, int port, int workers, Duration timeout) {
    return open(host, port, workers, timeout, options -> {});
  }

  /**
   * Serves the store.
   *
   * @param workers the number of processes to wait for, with this one; 0 to wait for none
   * @param listener a listening socket, which the store takes over; empty: the store listens on all
   *     interfaces
   */
  public static StoreConnection serve(
      String host, int port, OptionalInt listener, int workers, Duration timeout) {
    return open(
        host,
        port,
        workers,
        timeout,
        options -> {
          options.isServer(true);
          listener.ifPresent(descriptor -> options.masterListenFd(new IntOptional(descriptor)));
        });
  }

  /** Serves a store for this process alone. */
  public static StoreConnection alone(Duration timeout) {
    Facade.load();
    try {
      int listener = torchfeed.listen_on_loopback("127.0.0.1", 0);
      return serve("127.0.0.1", torchfeed.port_of(listener), OptionalInt.of(listener), 0, timeout);
    } catch (RuntimeException e) {
      throw NativeException.translate(e);
    }
  }

  private static StoreConnection open(
      String host, int port, int workers, Duration timeout, Consumer<TCPStoreOptions> more) {
    try (LogFilter warnings = LogFilter.create();
        PointerScope scope = new PointerScope()) {
      TCPStoreOptions options =
          new TCPStoreOptions()
              .port((short) port) // an unsigned 16-bit value in native code
              .waitWorkers(workers > 0)
              .timeout(new Milliseconds(timeout.toMillis()));
      if (workers > 0) {
        options.numWorkers(new SizeTPointer(1).put(workers));
      }
      more.accept(options);
      return new StoreConnection(
          NativeHandle.create("the store", () -> OwnedStore.create(host, options)));
    }
  }

  /** Adds an owner, which must release the connection. */
  public StoreConnection share() {
    if (owners.getAndUpdate(n -> n == 0 ? 0 : n + 1) == 0) {
      throw new IllegalStateException("ProcessGroup is closed");
    }
    return this;
  }

  public void release() {
    if (owners.decrementAndGet() == 0) {
      handle.close();
    }
  }

  NativeHandle<Store> handle() {
    return handle;
  }

  /**
   * Performs a call that does not wait longer than its limit. Native code waits indefinitely for a
   * master that has stopped, so a thread of the connection performs the call, which the caller may
   * abandon.
   *
   * @param requireOpen called again and again; throws to end the wait
   * @throws TimeoutException if the master has not answered
   * @throws IllegalStateException if the thread is interrupted
   */
  public <T> T limited(Supplier<T> call, Duration limit, Runnable requireOpen)
      throws TimeoutException {
    return new TimeLimitedCall<>(THREAD, caller, call).await(limit, requireOpen);
  }

  /** Calls the store without its warnings about failures, which its exceptions also have. */
  private <T> T quietly(Function<Store, T> call) {
    try (LogFilter warnings = LogFilter.create()) {
      return handle.call(call);
    }
  }

  public void set(String key, byte[] value) {
    quietly(
        store -> {
          try (BytePointer name = pointer(key);
              BytePointer bytes = pointer(value)) {
            store.set(name, bytes);
            return true;
          }
        });
  }

  /** Returns the value, in ASCII, of a key that is set. */
  String getText(String key) {
    return quietly(store -> store.get_to_str(key));
  }

  /** Adds bytes to the end of a value, which is empty if the key has none. */
  void append(String key, byte[] bytes) {
    quietly(
        store -> {
          try (BytePointer name = pointer(key);
              ByteVector added = new ByteVector(bytes)) {
            store.append(name, added);
            return true;
          }
        });
  }

  public boolean isSet(Collection<String> keys) {
    return quietly(
        store -> {
          try (PointerScope scope = new PointerScope()) {
            BytePointer[] names =
                keys.stream().map(StoreConnection::pointer).toArray(BytePointer[]::new);
            return store.check(new StringVector(names));
          }
        });
  }

  public boolean isSet(String key) {
    return isSet(List.of(key));
  }

  public long add(String key, long summand) {
    return quietly(
        store -> {
          try (BytePointer name = pointer(key)) {
            return store.add(name, summand);
          }
        });
  }

  public byte[] compareSet(String key, byte[] expected, byte[] desired) {
    return quietly(
        store -> {
          try (BytePointer name = pointer(key);
              BytePointer old = pointer(expected);
              BytePointer replacement = pointer(desired);
              BytePointer value = store.compareSet(name, old, replacement)) {
            return bytes(value);
          }
        });
  }

  public boolean delete(String key) {
    return quietly(
        store -> {
          try (BytePointer name = pointer(key)) {
            return store.deleteKey(name);
          }
        });
  }

  /** Returns the number of keys, with one in which a store counts its processes if it does. */
  long size() {
    return quietly(Store::getNumKeys);
  }

  /** Returns the keys that begin with the prefix, without it. */
  public List<String> keys(String prefix) {
    return quietly(
        store -> {
          try (PointerScope scope = new PointerScope()) {
            StringVector all = store.listKeys();
            List<String> keys = new ArrayList<>();
            for (long i = 0; i < all.size(); i++) {
              String key = new String(bytes(all.get(i)), StandardCharsets.UTF_8);
              int start = key.startsWith("/") ? 1 : 0; // as TCPStore sends them
              if (key.startsWith(prefix, start)) {
                keys.add(key.substring(start + prefix.length()));
              }
            }
            return keys;
          }
        });
  }

  private static BytePointer pointer(String text) {
    return pointer(text.getBytes(StandardCharsets.UTF_8));
  }

  /** Returns a string for native code, with a terminator: an empty one is measured by it. */
  private static BytePointer pointer(byte[] bytes) {
    return new BytePointer(bytes.length + 1L)
        .put(bytes)
        .put(bytes.length, (byte) 0)
        .limit(bytes.length);
  }

  /** Returns the bytes of JavaCPP's string, which is null for an empty one. */
  private static byte[] bytes(@Nullable BytePointer text) {
    if (text == null) {
      return new byte[0];
    }
    byte[] bytes = new byte[Math.toIntExact(text.limit())];
    text.get(bytes);
    return bytes;
  }
}
