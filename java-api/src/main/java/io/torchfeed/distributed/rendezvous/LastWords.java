// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.rendezvous;

import static java.util.Objects.requireNonNull;

import io.torchfeed.bindings.NativeException;
import io.torchfeed.distributed.PeerLostException;
import io.torchfeed.internal.Failures;
import io.torchfeed.internal.Quotes;
import io.torchfeed.sampler.Part;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * The words that ranks of a group leave for each other in its store once calls fail: why a rank has
 * given up, or in which call it waits. Nothing is sent before. Thread-safe.
 */
public final class LastWords {
  private static final int MAX_LENGTH = 1000;
  private static final byte[] NONE = {'?'};
  private static final Duration OF_A_CALL = Duration.ofSeconds(1);

  /** After the timeout of one rank, the others notice within this time that it has left. */
  private static final Duration UNTIL_ALL = Duration.ofSeconds(2);

  private static final Duration LINGER = Duration.ofSeconds(1);

  private enum Kind {
    /** The rank has waited for the timeout of the group. */
    TIMED_OUT,
    /** The rank has waited for one that has left. */
    WAITED,
    /** The rank has failed by itself. */
    GAVE_UP
  }

  /** The word of a rank: the call in which it waits, or the failure for which it gives up. */
  private record Word(Kind kind, String text) {}

  private final StoreConnection store;
  private final String key;
  private final Part part;
  private final AtomicBoolean hasGivenUp = new AtomicBoolean();

  LastWords(StoreConnection store, String prefix, Part part) {
    this.store = store;
    this.key = prefix + "last-words";
    this.part = part;
  }

  /** Tells the other ranks why this one gives up, if the store answers at once. */
  void giveUp(Throwable cause) {
    say(Kind.GAVE_UP, Failures.describe(cause));
    hasGivenUp.set(true);
  }

  /** If this rank has given up, waits a while until the others know why: it serves the store. */
  public void linger() {
    long start = System.nanoTime();
    long pause = 1;
    while (hasGivenUp.get()
        && call(() -> store.add(heardKey(), 0)).filter(n -> n < others()).isPresent()
        && pause(pause, start, LINGER)) {
      pause = MeetingPoint.nextPause(pause);
    }
  }

  private String heardKey() {
    return key + "/heard";
  }

  private int others() {
    return part.worldSize() - 1;
  }

  /**
   * Returns the exception for a call that has failed by a timeout, or for the loss of a rank.
   *
   * @param lost the rank that is lost; empty if unknown
   * @param isOver whether it is too late to wait for words
   */
  PeerLostException lost(
      String operation, long start, OptionalInt lost, NativeException e, BooleanSupplier isOver) {
    boolean isFirst = e.code() == NativeException.Code.TIMEOUT;
    SortedMap<Integer, Word> words = isFirst ? new TreeMap<>() : words().orElseGet(TreeMap::new);
    boolean hasTimedOut = isFirst || isAny(words, Kind.TIMED_OUT);
    if (hasTimedOut) {
      say(isFirst ? Kind.TIMED_OUT : Kind.WAITED, operation);
      words = awaitAll(isOver);
    }
    if (isAny(words, Kind.GAVE_UP)) {
      words.values().removeIf(word -> word.kind != Kind.GAVE_UP);
      call(() -> store.add(heardKey(), 1));
      int rank = words.firstKey();
      String reason = "it gave up because of " + requireNonNull(words.get(rank)).text;
      return LossNote.lost(operation, start, OptionalInt.of(rank), reason, e);
    }
    boolean areAll = words.size() == others();
    if (hasTimedOut && !areAll && !isOver.getAsBoolean() && words().isPresent()) {
      return ofSilent(operation, start, words.keySet(), lost, e);
    }
    words.values().removeIf(word -> word.text.equals(operation));
    return hasTimedOut && areAll && !words.isEmpty()
        ? inOtherCalls(operation, start, words, lost, e)
        : LossNote.lost(operation, start, lost, String.valueOf(e.getMessage()), e);
  }

  /** Returns the exception for ranks that wait in no call. */
  private PeerLostException ofSilent(
      String operation, long start, Set<Integer> waiting, OptionalInt lost, NativeException e) {
    int[] silent =
        IntStream.range(0, part.worldSize())
            .filter(rank -> rank != part.rank() && !waiting.contains(rank))
            .toArray();
    String reason =
        "%s; ranks %s are in no call".formatted(e.getMessage(), Arrays.toString(silent));
    OptionalInt rank = lost.isEmpty() && silent.length == 1 ? OptionalInt.of(silent[0]) : lost;
    return LossNote.lost(operation, start, rank, reason, e);
  }

  private static PeerLostException inOtherCalls(
      String operation,
      long start,
      SortedMap<Integer, Word> words,
      OptionalInt lost,
      NativeException e) {
    LossNote.write();
    String calls =
        words.entrySet().stream()
            .map(each -> "rank " + each.getKey() + " waits in " + each.getValue().text)
            .limit(8)
            .collect(Collectors.joining(", "));
    return PeerLostException.ofOtherCalls(
        calls, operation, start, words.size() == 1 ? OptionalInt.of(words.firstKey()) : lost, e);
  }

  private static boolean isAny(Map<Integer, Word> words, Kind kind) {
    return words.values().stream().anyMatch(word -> word.kind == kind);
  }

  /** Waits a while for the words of all other ranks; returns those that have come. */
  private SortedMap<Integer, Word> awaitAll(BooleanSupplier isOver) {
    long start = System.nanoTime();
    SortedMap<Integer, Word> last = new TreeMap<>();
    for (long pause = 1; ; pause = MeetingPoint.nextPause(pause)) {
      Optional<SortedMap<Integer, Word>> words = words();
      last = words.orElse(last);
      if (words.isEmpty()
          || last.size() >= others()
          || isOver.getAsBoolean()
          || !pause(pause, start, UNTIL_ALL)) {
        return last;
      }
    }
  }

  /** Returns false if the limit has passed since the start, or this thread is interrupted. */
  private static boolean pause(long millis, long start, Duration limit) {
    LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(millis));
    return System.nanoTime() - start < limit.toNanos() && !Thread.currentThread().isInterrupted();
  }

  private void say(Kind kind, String text) {
    String line = "%d\t%s\t%s\n".formatted(part.rank(), kind, Quotes.printable(cut(text)));
    call(
        () -> {
          store.append(key, line.getBytes(StandardCharsets.UTF_8));
          return store.isSet(key); // the store answers this, and so has the word
        });
  }

  private static String cut(String text) {
    return text.length() <= MAX_LENGTH ? text : text.substring(0, MAX_LENGTH) + "...";
  }

  /** Returns the latest words of other ranks; nothing if the store is lost. */
  private Optional<SortedMap<Integer, Word>> words() {
    return call(() -> store.compareSet(key, NONE, NONE)).map(this::parse); // only reads
  }

  private SortedMap<Integer, Word> parse(byte[] all) {
    SortedMap<Integer, Word> words = new TreeMap<>();
    if (!Arrays.equals(all, NONE)) {
      for (String line : new String(all, StandardCharsets.UTF_8).split("\n", -1)) {
        String[] fields = line.split("\t", -1);
        if (fields.length == 3 && Integer.parseInt(fields[0]) != part.rank()) {
          words.put(Integer.valueOf(fields[0]), new Word(Kind.valueOf(fields[1]), fields[2]));
        }
      }
    }
    return words;
  }

  /** Calls the store; returns nothing if it is lost: the failure to report is the group's. */
  private <T> Optional<T> call(Supplier<T> body) {
    try {
      return Optional.of(store.limited(body, OF_A_CALL, () -> {}));
    } catch (NativeException | IllegalStateException | TimeoutException e) {
      return Optional.empty();
    }
  }
}
