// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;

import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.data.source.ObjectDataset;
import io.torchfeed.data.source.SampleEncoder;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import java.util.Collections;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Tests that null is named where a user's data return it. */
@SuppressWarnings("NullAway") // null where it must not be
class NullResultsTest {
  private static final List<RowSpec> COLUMNS = List.of(RowSpec.of("x", DType.INT64));

  /** Samples with columns and lengths of choice. */
  private record Samples(
      @Nullable List<RowSpec> columns, @Nullable List<VariableLength> variableLengths)
      implements Dataset {
    @Override
    public long size() {
      return 3;
    }

    @Override
    public void read(long index, SampleWriter sample) {
      sample.putLong(0, index);
    }
  }

  /** A stream with columns of choice. */
  private record Shards(@Nullable List<RowSpec> columns) implements StreamDataset {
    @Override
    public int shards() {
      return 1;
    }

    @Override
    public SampleStream open(long epoch, int shard, @Nullable String position) {
      throw new UnsupportedOperationException();
    }
  }

  @Test
  void columnsAndLengthsOfDataThatAreNullAreNamed() {
    assertThatNullPointerException()
        .isThrownBy(() -> DataLoader.over(new Samples(null, List.of())))
        .withMessage("columns() of the dataset");
    assertThatNullPointerException()
        .isThrownBy(() -> DataLoader.over(new Samples(Collections.singletonList(null), List.of())))
        .withMessage("columns() of the dataset[0] must not be null");
    assertThatNullPointerException()
        .isThrownBy(() -> DataLoader.over(new Shards(null)))
        .withMessage("columns() of the dataset");
    assertThatNullPointerException()
        .isThrownBy(() -> DataLoader.over(new Samples(COLUMNS, null)).build())
        .withMessage("variableLengths() of the dataset");
    assertThatNullPointerException()
        .isThrownBy(
            () -> DataLoader.over(new Samples(COLUMNS, Collections.singletonList(null))).build())
        .withMessage("variableLengths() of the dataset[0] must not be null");
  }

  @Test
  void anObjectThatIsNullIsNamed() {
    ObjectDataset<String> objects =
        new ObjectDataset<>() {
          @Override
          public long size() {
            return 1;
          }

          @Override
          public String get(long index) {
            return null;
          }
        };
    SampleEncoder<String> encoder =
        new SampleEncoder<>() {
          @Override
          public List<RowSpec> columns() {
            return COLUMNS;
          }

          @Override
          public void write(String object, SampleWriter sample) {
            sample.putLong(0, object.length());
          }
        };
    try (DataLoader loader = DataLoader.over(objects.encode(encoder)).workers(0).build();
        Batches batches = loader.epoch(0)) {
      assertThatExceptionOfType(SampleException.class)
          .isThrownBy(batches::next)
          .withMessageContaining("sample 0 of epoch 0")
          .withMessageContaining("the object of the dataset");
      assertThat(batches.hasNext()).isFalse();
    }
  }
}
