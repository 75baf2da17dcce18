// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static io.torchfeed.data.MisbehavingDataset.BAD;
import static io.torchfeed.data.MisbehavingDataset.loader;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.torchfeed.data.MisbehavingDataset.Deed;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The loader and the JVM survive whatever the code of a dataset does. */
@Timeout(60)
class FailingDatasetTest extends StalledWorkersCheck {
  @SuppressWarnings("InfiniteRecursion") // intended
  private static int overflow(int depth) {
    return overflow(depth + 1) + 1;
  }

  enum Throwing implements Deed {
    CHECKED,
    UNCHECKED,
    ERROR,
    STACK_OVERFLOW,
    OUT_OF_MEMORY,
    INTERRUPTED,
    TOO_MUCH,
    TOO_MUCH_LATER,
    WRONG_DTYPE,
    NO_SUCH_COLUMN;

    @Override
    public void run(SampleWriter sample) throws Exception {
      switch (this) {
        case CHECKED -> throw new IOException("disk on fire");
        case UNCHECKED -> throw new IllegalStateException("no state");
        case ERROR -> throw new AssertionError("wrong");
        case STACK_OVERFLOW -> overflow(0);
        case OUT_OF_MEMORY -> sample.put(0, new float[Integer.MAX_VALUE]);
        case INTERRUPTED -> throw new InterruptedException("by itself");
        case TOO_MUCH -> sample.put(0, new float[Rows.WIDTH + 1]);
        case TOO_MUCH_LATER -> sample.put(0, new float[1]);
        case WRONG_DTYPE -> sample.putInt(1, 3);
        case NO_SUCH_COLUMN -> sample.putLong(2, 3);
      }
    }
  }

  @ParameterizedTest
  @EnumSource
  void aSampleFailureIsDeliveredWithItsBatch(Throwing deed) {
    for (int workers : new int[] {0, 1, 2}) {
      try (DataLoader loader = loader(workers, deed).build()) {
        for (long epoch = 0; epoch < 2; epoch++) {
          try (Batches batches = loader.epoch(epoch)) {
            long number = epoch;
            Rows.assertHolds(batches.next(), 0, 1, 2);
            assertThatExceptionOfType(SampleException.class)
                .isThrownBy(batches::next)
                .satisfies(
                    e -> {
                      assertThat(e.index()).isEqualTo(BAD);
                      assertThat(e.epoch()).isEqualTo(number);
                      assertThat(e.batch()).isEqualTo(1);
                      assertThat(e).hasCauseInstanceOf(Throwable.class);
                      assertThat(e).hasMessageContaining("sample 5 of epoch");
                    });
            Rows.assertHolds(batches.next(), 6, 7, 8);
            Rows.assertHolds(batches.next(), 9, 10, 11);
            assertThat(batches.hasNext()).isFalse();
          }
        }
      }
      // Without workers, an interrupt of a sample interrupts the consumer.
      assertThat(Thread.interrupted()).isEqualTo(workers == 0 && deed == Throwing.INTERRUPTED);
    }
  }

  @Test
  void anIncompleteSampleIsReported() {
    Dataset half =
        new Dataset() {
          @Override
          public long size() {
            return 1;
          }

          @Override
          public List<RowSpec> columns() {
            return List.of(RowSpec.of(DType.UINT8, 2, 2));
          }

          @Override
          public void read(long index, SampleWriter sample) {
            sample.put(0, new byte[3]);
          }
        };
    try (DataLoader loader = DataLoader.over(half).build();
        Batches batches = loader.epoch(0)) {
      assertThatExceptionOfType(SampleException.class)
          .isThrownBy(batches::next)
          .withMessageContaining("column 0 takes 4 elements of a sample (uint8 [2, 2]), got 3");
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 2})
  void badSamplesAreSkippedOnRequest(int workers) {
    try (DataLoader loader =
            loader(workers, Throwing.CHECKED).onFailure(FailurePolicy.skipSample()).build();
        Batches batches = loader.epoch(0)) {
      Rows.assertHolds(batches.next(), 0, 1, 2);
      Batch shorter = batches.next();
      Rows.assertHolds(shorter, 3, 4);
      assertThat(shorter.isPadding(1)).isFalse();
      Rows.assertHolds(batches.next(), 6, 7, 8);
    }
  }

  @Test
  void aBatchWhoseSamplesAreAllSkippedIsEmpty() {
    Dataset data = new MisbehavingDataset(Throwing.UNCHECKED).subset(BAD, BAD, 0, BAD, 1, 2);
    try (DataLoader loader =
            DataLoader.over(data).batchSize(2).onFailure(FailurePolicy.skipSample()).build();
        Batches batches = loader.epoch(0)) {
      Batch none = batches.next();
      assertThat(none.size()).isZero();
      assertThat(none.tensor(0).sizes().vec().get()).containsExactly(0, Rows.WIDTH);
      assertThat(batches.next().indices()).containsExactly(2);
      assertThat(batches.next().indices()).containsExactly(4, 5);
    }
  }

  @Test
  void badSamplesAreRetriedOnRequest() {
    AtomicInteger attempts = new AtomicInteger();
    Deed twice =
        sample -> {
          sample.putFloat(0, -1); // overwritten
          if (attempts.incrementAndGet() <= 2) {
            throw new IOException("not yet");
          }
          sample.put(0, new float[Rows.WIDTH]); // one element too many, as the row has begun
        };
    try (DataLoader loader =
            loader(1, twice).onFailure(FailurePolicy.report().afterRetries(2)).build();
        Batches batches = loader.epoch(0)) {
      batches.next();
      assertThatExceptionOfType(SampleException.class)
          .isThrownBy(batches::next)
          .withMessageContaining("got 3 after 1");
      assertThat(attempts).hasValue(3);
    }
    attempts.set(0);
    Deed once =
        sample -> {
          if (attempts.incrementAndGet() == 1) {
            throw new IOException("not yet");
          }
        };
    try (DataLoader loader =
            loader(1, once).onFailure(FailurePolicy.skipSample().afterRetries(1)).build();
        Batches batches = loader.epoch(0)) {
      batches.next();
      Rows.assertHolds(batches.next(), 3, 4, 5);
      assertThat(attempts).hasValue(2);
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2})
  void aSampleMayCloseItsLoader(int workers) {
    CompletableFuture<DataLoader> own = new CompletableFuture<>();
    DataLoader loader = loader(workers, sample -> own.join().close()).build();
    own.complete(loader);
    try (Batches batches = loader.epoch(0)) {
      assertThatIllegalStateException()
          .isThrownBy(
              () -> {
                while (true) {
                  batches.next();
                }
              })
          .withMessageContaining("closed");
    }
    assertThatCode(loader::close).doesNotThrowAnyException();
  }

  @Test
  void aWriterIsRefusedAfterItsSampleAndInOtherThreads() {
    List<SampleWriter> kept = new ArrayList<>();
    AtomicReference<Throwable> elsewhere = new AtomicReference<>();
    Deed keeping =
        sample -> {
          kept.add(sample);
          Thread other =
              new Thread(
                  () -> {
                    try {
                      sample.putFloat(0, 7);
                    } catch (Throwable e) {
                      elsewhere.set(e);
                    }
                  });
          other.start();
          other.join();
        };
    try (DataLoader loader = loader(1, keeping).build();
        Batches batches = loader.epoch(0)) {
      batches.next();
      Rows.assertHolds(batches.next(), 3, 4, 5);
      assertThatIllegalStateException().isThrownBy(() -> kept.get(0).putFloat(0, 7));
    }
    assertThat(elsewhere.get()).isInstanceOf(IllegalStateException.class);
  }

  /** The writer of such a column needs more than the available heap for every batch. */
  @ParameterizedTest
  @ValueSource(ints = {0, 1, 2})
  void aWriterThatExceedsTheHeapFailsEachBatch(int workers) {
    Dataset large =
        new Dataset() {
          @Override
          public long size() {
            return 3;
          }

          @Override
          public List<RowSpec> columns() {
            return List.of(RowSpec.of(DType.UINT8, 600_000_000));
          }

          @Override
          public List<VariableLength> variableLengths() {
            return List.of(VariableLength.padded(0));
          }

          @Override
          public void read(long index, SampleWriter sample) {
            sample.put(0, new byte[1]);
          }
        };
    try (DataLoader loader = DataLoader.over(large).workers(workers).build();
        Batches batches = loader.epoch(0)) {
      for (int batch = 0; batch < 3; batch++) {
        assertThatIllegalStateException()
            .isThrownBy(batches::next)
            .withMessageContaining("batch " + batch + " of epoch 0")
            .withRootCauseInstanceOf(OutOfMemoryError.class);
      }
      assertThat(batches.hasNext()).isFalse();
      assertThatExceptionOfType(NoSuchElementException.class).isThrownBy(batches::next);
    }
  }
}
