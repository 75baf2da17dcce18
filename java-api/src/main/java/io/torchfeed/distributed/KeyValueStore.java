// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import static java.util.Objects.requireNonNull;

import io.torchfeed.bindings.NativeException;
import io.torchfeed.distributed.rendezvous.LossNote;
import io.torchfeed.distributed.rendezvous.MeetingPoint;
import io.torchfeed.distributed.rendezvous.Rendezvous;
import io.torchfeed.distributed.rendezvous.StoreConnection;
import io.torchfeed.internal.Checks;
import io.torchfeed.internal.Quotes;
import io.torchfeed.internal.TimeLimit;
import io.torchfeed.sampler.Part;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.OptionalInt;
import java.util.UUID;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Small values that the ranks of a group share by name, served by the master's process.
 *
 * <p>Every group has a store of its own: keys of other groups, and of the library, are never seen.
 * Every call is a message to the master, so it is no substitute for collective operations; values
 * should be at most a few kilobytes. Thread-safe.
 *
 * <p>A key has at most 8 KiB in UTF-8, less the prefix that tells it from other groups' keys; a
 * longer one is an {@link IllegalArgumentException}, and so is text with half of a surrogate pair.
 *
 * <p>Every method throws {@link PeerLostException} if the master is lost, or does not answer within
 * half a second more than the method's limit (the group's timeout, if it has none). The exception
 * names the rank whose process serves the store, by its number in this group, if that process has
 * stopped or ended, or has closed the group. If other ranks are lost or have left as well, it may
 * name one of them: mostly the rank for whose loss the first one has left. The store is served by
 * the process of rank 0 of the group that was joined, which may have another number in a sub-group.
 * The exception names no rank if that process is not in the sub-group, or if torchrun's agent
 * serves the store. Every method throws {@link IllegalStateException} if the group is closed or
 * aborted, and {@link CollectiveInterruptedException} if the thread is interrupted, also while it
 * waits.
 */
public final class KeyValueStore {
  private static final long MAX_PAUSE_MILLIS = 10;
  private static final byte[] ZERO = {'0'};

  // The limits of libtorch's server, which ends the connection of a rank that sends more.
  private static final int MAX_NAME_BYTES = (8 << 10) - 1; // it gets a slash before each
  private static final int MAX_VALUE_BYTES = 8 << 20;
  private static final int MAX_KEYS = 128 << 10;

  private static final Duration MIN_LINGER = Duration.ofSeconds(1);

  // Keys of a barrier, next to the numbers of the ranks.
  private static final String OUTCOME = "outcome";
  private static final String LEFT = "left";
  private static final String PASSED = "passed";

  private final StoreConnection connection;
  private final String prefix;
  private final Server server;
  private final Duration timeout;

  /** The group of a store, which names the rank whose process serves it. */
  interface Server {
    /** Returns its rank; empty if it is no other rank of the group. */
    OptionalInt rank();

    /** Returns the rank that is lost after the connection to it has ended; empty if unknown. */
    OptionalInt lostRank();

    /** Throws once the store may not be used any more, in a call that began at start. */
    void requireOpen(long start);
  }

  /**
   * Creates a view of the keys with a prefix.
   *
   * @param server names the rank that is lost when the store is
   * @param timeout the limit of calls that have none of their own
   */
  KeyValueStore(StoreConnection connection, String prefix, Server server, Duration timeout) {
    this.connection = connection;
    this.prefix = prefix;
    this.server = server;
    this.timeout = timeout;
  }

  /**
   * Sets the value of a key, replacing any that it already has.
   *
   * @param key any text
   * @param value at most 8 MiB; not modified
   * @throws IllegalArgumentException if it is longer
   */
  public void set(String key, byte[] value) {
    String name = name(key);
    byte[] bytes = value("value", value);
    call(
        () -> {
          connection.set(name, bytes);
          return connection.isSet(name); // the store answers this, and so has set the value
        });
  }

  /**
   * Sets the value of a key, replacing any that it already has.
   *
   * @param key any text
   * @param value stored as UTF-8, in at most 8 MiB
   * @throws IllegalArgumentException if it is longer
   */
  public void set(String key, String value) {
    set(key, Checks.utf8("value", value));
  }

  /**
   * Returns the value of a key, once it has one.
   *
   * @param key any text
   * @param timeout how long to wait; zero or less: not at all
   * @return a new array
   * @throws PeerLostException if no rank has set it within the timeout
   * @throws CollectiveInterruptedException if the thread is interrupted while it waits
   */
  public byte[] get(String key, Duration timeout) {
    String name = name(key);
    Duration limit = TimeLimit.of("timeout", timeout);
    long start = System.nanoTime();
    // Only reads, and unlike the store's own get waits for no key, which another rank may delete.
    byte[] none = UUID.randomUUID().toString().getBytes(StandardCharsets.UTF_8);
    byte[][] value = {none};
    boolean isSet =
        poll(
            limit,
            () -> {
              value[0] = connection.compareSet(name, none, none);
              return !Arrays.equals(value[0], none);
            });
    if (!isSet) {
      LossNote.write();
      throw PeerLostException.ofUnsetKey(key, start);
    }
    return value[0];
  }

  /**
   * Returns the value of a key as text, once it has one.
   *
   * @param key any text
   * @param timeout how long to wait; zero or less: not at all
   * @return the value, decoded as UTF-8
   * @throws PeerLostException if no rank has set it within the timeout
   * @throws CollectiveInterruptedException if the thread is interrupted while it waits
   */
  public String getString(String key, Duration timeout) {
    return new String(get(key, timeout), StandardCharsets.UTF_8);
  }

  /**
   * Waits until all keys have values.
   *
   * @param keys at least one, and at most 131,072
   * @param timeout how long to wait; zero or less: not at all
   * @return whether all have values
   * @throws IllegalArgumentException if there is no key, or there are more
   * @throws CollectiveInterruptedException if the thread is interrupted while it waits
   */
  public boolean await(Collection<String> keys, Duration timeout) {
    requireNonNull(keys, "keys");
    if (keys.isEmpty() || keys.size() > MAX_KEYS) {
      throw new IllegalArgumentException(
          "keys must hold at least 1 and at most %d keys, got %d".formatted(MAX_KEYS, keys.size()));
    }
    List<String> names = keys.stream().map(this::name).toList();
    return poll(TimeLimit.of("timeout", timeout), () -> connection.isSet(names));
  }

  /** Asks the store again and again; returns whether it was done within the limit. */
  private boolean poll(Duration limit, Supplier<Boolean> done) {
    long start = System.nanoTime();
    long pause = 1;
    while (!call(done, left(start, limit))) {
      long left = left(start, limit).toMillis();
      if (left <= 0) {
        return false;
      }
      Rendezvous.sleep(Math.min(pause, left));
      pause = Math.min(2 * pause, MAX_PAUSE_MILLIS);
    }
    return true;
  }

  /**
   * Adds to a number, which is 0 if the key has no value, and stores the sum.
   *
   * @param key any text; its value must be an integer in decimal digits, and no other rank may set
   *     it to anything else meanwhile: the store ends the connection of a rank that adds to that
   * @param summand the number to add; may be negative
   * @return the sum
   * @throws IllegalArgumentException if the value is no such number, or the sum is not in the range
   *     of long; the value is as before
   */
  public long add(String key, long summand) {
    String name = name(key);
    return call(
        () -> {
          requireSum(key, connection.compareSet(name, ZERO, ZERO), summand); // only reads
          return connection.add(name, summand);
        });
  }

  private static void requireSum(String key, byte[] value, long summand) {
    String text = new String(value, StandardCharsets.UTF_8);
    try {
      Math.addExact(Long.parseLong(text), summand);
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException(
          "the value of key '%s' must be an integer to add to it, got '%s'; set or delete it before"
              .formatted(Quotes.shortened(key), Quotes.shortened(text)),
          e);
    } catch (ArithmeticException e) {
      throw new IllegalArgumentException(
          "the sum of key '%s' must be in the range of long, got %s + %d"
              .formatted(Quotes.shortened(key), text, summand),
          e);
    }
  }

  private String name(String key) {
    int bytes = Checks.utf8("key", key).length;
    int most = MAX_NAME_BYTES - prefix.getBytes(StandardCharsets.UTF_8).length;
    if (bytes > most) {
      throw new IllegalArgumentException(
          "a key must have at most %d bytes in UTF-8, got %d".formatted(most, bytes));
    }
    return prefix + key;
  }

  private static byte[] value(String name, byte[] value) {
    if (requireNonNull(value, name).length > MAX_VALUE_BYTES) {
      throw new IllegalArgumentException(
          "%s must have at most %d bytes, got %d; send it by a collective operation"
              .formatted(name, MAX_VALUE_BYTES, value.length));
    }
    return value;
  }

  /**
   * Sets the value of a key if it has the expected value.
   *
   * @param key any text
   * @param expected the value to replace; an empty one also matches a key without a value
   * @param desired the new value
   * @return the value after the call, or {@code expected} if the key still has none
   */
  public String compareSet(String key, String expected, String desired) {
    String name = name(key);
    byte[] old = Checks.utf8("expected", expected);
    byte[] replacement = value("desired", Checks.utf8("desired", desired));
    value("expected", old);
    byte[] value = call(() -> connection.compareSet(name, old, replacement));
    return new String(value, StandardCharsets.UTF_8);
  }

  /**
   * Removes a key and its value.
   *
   * @param key any text
   * @return whether it had a value
   */
  public boolean delete(String key) {
    String name = name(key);
    return call(() -> connection.delete(name));
  }

  /**
   * Returns the number of keys that have values.
   *
   * @return at least 0
   */
  public int size() {
    return call(() -> connection.keys(prefix).size());
  }

  /** Returns how long rank 0 waits for a rank that is lost after all have arrived. */
  private static Duration lingerOf(long start, Duration limit) {
    Duration left = limit.minusNanos(System.nanoTime() - start);
    Duration most = left.compareTo(MeetingPoint.MAX_LINGER) < 0 ? left : MeetingPoint.MAX_LINGER;
    return most.compareTo(MIN_LINGER) < 0 ? MIN_LINGER : most;
  }

  /**
   * Waits until every rank has called this method for this prefix. Either all ranks pass, or none
   * that comes before or after the first has given up. If they pass, rank 0, whose process may
   * serve the store, waits until the others need it no more, and removes the keys; otherwise the
   * last one to leave does.
   */
  void barrier(Part part, Duration limit) {
    long start = System.nanoTime();
    List<String> all = IntStream.range(0, part.worldSize()).mapToObj(String::valueOf).toList();
    set(String.valueOf(part.rank()), "");
    boolean isComplete = await(all, limit);
    String missing =
        isComplete
            ? ""
            : all.stream()
                .filter(rank -> !await(List.of(rank), Duration.ZERO))
                .collect(Collectors.joining(", "));
    String mine = missing.isEmpty() ? PASSED : missing;
    String outcome = compareSet(OUTCOME, "", mine);
    boolean isPassed = outcome.equals(PASSED);
    boolean isLast = add(LEFT, 1) == part.worldSize();
    boolean removesKeys =
        isPassed
            ? part.rank() == 0
                && MeetingPoint.linger(() -> add(LEFT, 0), part.worldSize(), lingerOf(start, limit))
            : isLast;
    if (removesKeys) {
      all.forEach(this::delete);
      delete(OUTCOME);
      delete(LEFT);
    }
    if (!isPassed) {
      throw LossNote.lost(
          "monitored barrier",
          start,
          outcome.contains(",") ? OptionalInt.empty() : OptionalInt.of(Integer.parseInt(outcome)),
          "ranks [" + outcome + "] have not reached it within the limit",
          null);
    }
  }

  private static Duration left(long start, Duration limit) {
    Duration left = limit.minusNanos(System.nanoTime() - start);
    return left.isNegative() ? Duration.ZERO : left;
  }

  private <R> R call(Supplier<R> body) {
    return call(body, timeout);
  }

  private <R> R call(Supplier<R> body, Duration limit) {
    long start = System.nanoTime();
    server.requireOpen(start);
    try {
      return connection.limited(
          body, limit.plus(MeetingPoint.GRACE), () -> server.requireOpen(start));
    } catch (NativeException e) {
      String reason = "the store was lost: " + e.getMessage();
      throw LossNote.lost("store", start, server.lostRank(), reason, e);
    } catch (TimeoutException e) {
      String reason = "the master's process does not answer";
      throw LossNote.lost("store", start, server.rank(), reason, e);
    }
  }
}
