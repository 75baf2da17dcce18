// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.torchfeed.distributed.rendezvous.MeetingPoint;
import io.torchfeed.distributed.rendezvous.StoreConnection;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.OptionalInt;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of the store without other ranks; {@link ProcessGroupTest} shares it among some. */
@Timeout(60)
class KeyValueStoreTest {
  private static final Duration MINUTE = Duration.ofMinutes(1);
  private static final Duration FOREVER = Duration.ofSeconds(Long.MAX_VALUE);

  /** A store that no other rank serves. */
  static final KeyValueStore.Server ALONE =
      new KeyValueStore.Server() {
        @Override
        public OptionalInt rank() {
          return OptionalInt.empty();
        }

        @Override
        public OptionalInt lostRank() {
          return OptionalInt.empty();
        }

        @Override
        public void requireOpen(long start) {}
      };

  private final StoreConnection connection = StoreConnection.alone(MINUTE);
  private final KeyValueStore store = store(connection, "user/");

  private static KeyValueStore store(StoreConnection connection, String prefix) {
    return new KeyValueStore(connection, prefix, ALONE, MINUTE);
  }

  @AfterEach
  void release() {
    connection.release();
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "text", "12 apples", "1.5", "99999999999999999999"})
  void addingToWhatIsNoNumberIsRefusedAndTheStoreGoesOn(String value) {
    store.set("key", value);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> store.add("key", 1))
        .withMessage(
            "the value of key 'key' must be an integer to add to it, got '%s'; set or delete it"
                + " before",
            value);
    assertThat(store.getString("key", FOREVER)).isEqualTo(value);
    assertThat(store.add("other", 1)).isEqualTo(1);
  }

  @Test
  void sumsStayInTheRangeOfLong() {
    assertThat(store.add("key", Long.MAX_VALUE)).isEqualTo(Long.MAX_VALUE);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> store.add("key", 1))
        .withMessage(
            "the sum of key 'key' must be in the range of long, got 9223372036854775807 + 1");
    assertThat(store.add("key", Long.MIN_VALUE)).isEqualTo(-1);
    store.set("key", "-5");
    assertThat(store.add("key", 7)).isEqualTo(2);
  }

  @Test
  void whatTheServerWouldNotAcceptIsRefusedAndTheStoreGoesOn() {
    String longest = "k".repeat(8191 - "user/".length());
    byte[] large = new byte[(8 << 20) + 1];
    store.set(longest, Arrays.copyOf(large, 8 << 20));
    assertThat(store.get(longest, FOREVER)).hasSize(8 << 20);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> store.add(longest + "k", 1))
        .withMessage("a key must have at most 8186 bytes in UTF-8, got 8187");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> store.set("key", large))
        .withMessage(
            "value must have at most 8388608 bytes, got 8388609; send it by a collective operation");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> store.compareSet("key", "", "x".repeat(large.length)))
        .withMessageStartingWith("desired must have at most 8388608 bytes");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> store.await(Collections.nCopies((128 << 10) + 1, "key"), Duration.ZERO))
        .withMessage("keys must hold at least 1 and at most 131072 keys, got 131073");
    assertThat(store.add("other", 1)).isEqualTo(1);
  }

  @Test
  void textThatUtf8CannotHoldIsRefused() {
    String half = "a\ud83d";
    store.set("key", "\ud83d\ude00");
    for (ThrowingCallable call :
        List.<ThrowingCallable>of(
            () -> store.set("key", half),
            () -> store.compareSet("key", "\ud83d\ude00", half),
            () -> store.compareSet("key", half, ""),
            () -> store.set(half, "value"),
            () -> store.add(half, 1))) {
      assertThatIllegalArgumentException()
          .isThrownBy(call)
          .withMessageMatching(
              "(value|desired|expected|key) must not have half of a surrogate pair, got one at"
                  + " index 1");
    }
    assertThat(store.getString("key", FOREVER)).isEqualTo("\ud83d\ude00");
    assertThat(store.size()).isEqualTo(1);
  }

  @Test
  void aSubGroupOfManyRanksHasRoomForKeys() {
    String ranks =
        IntStream.range(0, 4096).mapToObj(String::valueOf).collect(Collectors.joining("-"));
    String first = MeetingPoint.prefix("torchfeed/0/group/" + ranks + "/1/");
    String second = MeetingPoint.prefix("torchfeed/0/group/" + ranks + "/2/");
    store(connection, first).set("key", "first");
    store(connection, second).set("key", "second");
    KeyValueStore again = store(connection, first);
    assertThat(again.getString("key", FOREVER)).isEqualTo("first");
    assertThat(MeetingPoint.prefix("torchfeed/0/group/0-1/1/"))
        .isEqualTo("torchfeed/0/group/0-1/1/");
  }

  @Test
  void aKeyThatNobodySetsIsCalledSo() {
    assertThatThrownBy(() -> store.get("never", Duration.ZERO))
        .isInstanceOf(PeerLostException.class)
        .hasMessageMatching("no rank has set the key 'never' within \\d+ ms")
        .extracting(e -> ((PeerLostException) e).rank())
        .isEqualTo(OptionalInt.empty());
    assertThat(store.await(List.of("never"), Duration.ofSeconds(Long.MIN_VALUE))).isFalse();
  }

  @Test
  void aKeyThatIsDeletedMeanwhileBlocksNobody() throws Exception {
    AtomicBoolean isOver = new AtomicBoolean();
    Thread deleting =
        new Thread(
            () -> {
              while (!isOver.get()) {
                store.set("key", "value");
                store.delete("key");
              }
            });
    deleting.start();
    try {
      for (int i = 0; i < 200; i++) {
        assertThat(store.getString("key", Duration.ofSeconds(20))).isEqualTo("value");
      }
    } finally {
      isOver.set(true);
      deleting.join();
    }
  }

  @Test
  void theLongestLimitIsWaitedFor() {
    store.set("key", "value");
    assertThat(store.getString("key", FOREVER)).isEqualTo("value");
    assertThat(store.await(List.of("key"), FOREVER)).isTrue();
  }

  @Test
  void anInterruptedWaitHasATypeOfItsOwn() {
    Thread.currentThread().interrupt();
    assertThatExceptionOfType(CollectiveInterruptedException.class)
        .isThrownBy(() -> store.get("nobody's", MINUTE))
        .withMessage("the thread was interrupted while it waited for the other ranks");
    assertThat(Thread.interrupted()).isTrue();
  }

  @Test
  @SuppressWarnings("NullAway") // callers may have no null checks
  void whatIsMissingIsNamed() {
    byte[] bytes = "value".getBytes(StandardCharsets.UTF_8);
    assertNamed("key", () -> store.set(null, bytes));
    assertNamed("value", () -> store.set("key", (byte[]) null));
    assertNamed("value", () -> store.set("key", (String) null));
    assertNamed("key", () -> store.get(null, FOREVER));
    assertNamed("timeout", () -> store.get("key", null));
    assertNamed("timeout", () -> store.await(List.of("key"), null));
    assertNamed("key", () -> store.add(null, 1));
    assertNamed("expected", () -> store.compareSet("key", null, ""));
    assertNamed("desired", () -> store.compareSet("key", "", null));
    assertNamed("key", () -> store.delete(null));
  }

  private static void assertNamed(String argument, ThrowingCallable call) {
    assertThatNullPointerException().isThrownBy(call).withMessage(argument);
  }
}
