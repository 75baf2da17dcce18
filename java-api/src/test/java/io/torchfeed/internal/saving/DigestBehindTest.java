// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal.saving;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIOException;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of digests beside the thread that reads. */
@Timeout(20)
class DigestBehindTest {
  private static final int PIECE = 1 << 20;

  /** A digest that a test fails or stops. */
  private static final class TestDigest extends MessageDigest {
    private final Runnable each;
    private final AtomicInteger pieces = new AtomicInteger();

    TestDigest(Runnable each) {
      super("test");
      this.each = each;
    }

    @Override
    protected void engineUpdate(byte input) {
      throw new UnsupportedOperationException();
    }

    @Override
    protected void engineUpdate(byte[] input, int offset, int length) {
      throw new UnsupportedOperationException();
    }

    @Override
    protected void engineUpdate(ByteBuffer input) {
      pieces.incrementAndGet();
      each.run();
    }

    @Override
    protected byte[] engineDigest() {
      return new byte[0];
    }

    @Override
    protected void engineReset() {}
  }

  private static MessageDigest sha256() throws NoSuchAlgorithmException {
    return MessageDigest.getInstance("SHA-256");
  }

  private static void add(DigestBehind behind, int pieces) {
    for (int i = 0; i < pieces; i++) {
      behind.add(ByteBuffer.allocateDirect(PIECE));
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 4, 5, 20})
  void theDigestIsThatOfAllBytesInOrder(int pieces) throws Exception {
    byte[] bytes = new byte[PIECE * pieces + 5];
    new Random(pieces).nextBytes(bytes);
    try (DigestBehind behind = new DigestBehind(sha256())) {
      behind.adding(new ByteArrayInputStream(bytes, 0, 5)).readAllBytes();
      for (int i = 0; i < pieces; i++) {
        behind.add(ByteBuffer.wrap(bytes, 5 + i * PIECE, PIECE));
        behind.add(ByteBuffer.allocate(0));
      }
      assertThat(behind.await().digest()).isEqualTo(sha256().digest(bytes));
    }
  }

  @Test
  void closeDropsWhatIsNotInTheDigestYet() throws Exception {
    CountDownLatch begun = new CountDownLatch(1);
    CountDownLatch mayEnd = new CountDownLatch(1);
    TestDigest digest =
        new TestDigest(
            () -> {
              if (Thread.currentThread().isDaemon()) {
                begun.countDown();
                awaitQuietly(mayEnd);
              }
            });
    DigestBehind behind = new DigestBehind(digest);
    add(behind, 20);
    begun.await();
    Thread closing = new Thread(behind::close);
    closing.start();
    while (closing.isAlive() && closing.getState() != Thread.State.WAITING) {
      Thread.onSpinWait();
    }
    assertThat(closing.isAlive()).isTrue(); // the memory is in use
    mayEnd.countDown();
    closing.join();
    assertThat(digest.pieces).hasValue(5); // four on the thread that adds
    behind.close();
  }

  private static void awaitQuietly(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  @Test
  void aFailureOfTheThreadIsThrownByAwait() {
    TestDigest digest =
        new TestDigest(
            () -> {
              if (Thread.currentThread().isDaemon()) {
                throw new IllegalStateException("for a test");
              }
            });
    try (DigestBehind behind = new DigestBehind(digest)) {
      add(behind, 20);
      assertThatIOException().isThrownBy(behind::await).withMessage("for a test");
    }
  }

  @Test
  void tooLittleMemoryIsNoFailureOfTheFile() throws IOException {
    TestDigest digest =
        new TestDigest(
            () -> {
              if (Thread.currentThread().isDaemon()) {
                throw new OutOfMemoryError("for a test");
              }
            });
    try (DigestBehind behind = new DigestBehind(digest)) {
      add(behind, 20);
      assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(behind::await);
    }
  }
}
