// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.contract;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.torchfeed.data.BatchTransform;
import io.torchfeed.data.FailurePolicy;
import io.torchfeed.data.NativeDataset;
import io.torchfeed.data.RowData;
import io.torchfeed.data.RowFiles;
import io.torchfeed.data.Rows;
import io.torchfeed.data.SampleException;
import io.torchfeed.data.TensorDataset;
import io.torchfeed.data.WorkerHooks;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.data.loader.DataLoaderBuilder;
import io.torchfeed.data.loader.LoaderStats;
import io.torchfeed.data.source.FileColumn;
import io.torchfeed.data.source.FileDataset;
import io.torchfeed.data.source.RowLayout;
import io.torchfeed.memory.DType;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.function.UnaryOperator;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of native datasets whose batches JVM threads load. */
class NativeTransformTest extends BatchTransformContract {
  NativeTransformTest() {
    super(RowData::selection);
  }

  @Nested
  class Loader extends LoaderContract {
    Loader() {
      super(RowData::transformed);
    }
  }

  @Nested
  class ABatch extends BatchContract {
    ABatch() {
      super(RowData::transformed);
    }
  }

  @Nested
  class Unordered extends UnorderedContract {
    Unordered() {
      super(RowData::transformed);
    }
  }

  @Nested
  class Closing extends LoaderCloseContract {
    Closing() {
      super(RowData::transformed);
    }

    @Override
    int manyEpochs() {
      return 1000;
    }
  }

  private static List<LoaderStats.SkippedSample> skipped = List.of(); // by the last call of read

  /** Loads rows 0, 1, ... of a file of which only the first two can be read; returns each batch. */
  private static List<String> read(Path folder, UnaryOperator<DataLoaderBuilder> options)
      throws IOException {
    Tensor numbers = Tensor.create(new long[] {10, 11, 12, 13}, 4);
    Path file = RowFiles.write(folder.resolve("rows"), RowFiles.bytesOf(numbers));
    List<String> seen = new ArrayList<>();
    try (FileDataset files = FileDataset.of(FileColumn.raw(RowLayout.of(DType.INT64), file));
        NativeDataset rows = files.subset(1, 3, 0, 2, 3, 0, 1);
        DataLoader loader = options.apply(DataLoader.over(rows).batchSize(3).workers(2)).build()) {
      RowFiles.truncate(file, 2 * Long.BYTES);
      try (Batches batches = loader.epoch(5)) {
        while (batches.hasNext()) {
          try {
            Batch batch = batches.next();
            StringBuilder text = new StringBuilder();
            long[] values = Rows.longs(batch.tensor(0));
            for (int row = 0; row < values.length; row++) {
              text.append(batch.indices()[row]).append(':').append(values[row]).append(' ');
            }
            seen.add(text.toString());
          } catch (SampleException e) {
            assertThat(e.worker()).isEmpty();
            assertThat(e).hasCauseInstanceOf(RuntimeException.class);
            seen.add(String.valueOf(e.getMessage()).replace(folder.toString(), ""));
          }
        }
      }
      skipped = loader.stats().skippedSamples();
    }
    return seen;
  }

  @Test
  void anUnreadableRowIsReportedAsByLibtorchsLoader(@TempDir Path folder) throws IOException {
    List<String> seen = read(folder, options -> options.transform((tensors, random) -> tensors));
    assertThat(seen)
        .hasSize(3)
        .contains("6:11 ")
        .anySatisfy(
            text -> assertThat(text).startsWith("sample 1 of epoch 5, batch 0: /rows: row 3"));
    assertThat(seen).isEqualTo(read(folder, options -> options));
  }

  @Test
  void samplesThatCannotBeReadMayBeLeftOut(@TempDir Path folder) throws IOException {
    FailurePolicy skip = FailurePolicy.skipSample();
    assertThat(read(folder, options -> options.onFailure(skip)))
        .containsExactly("0:11 2:10 ", "5:10 ", "6:11 ");
    assertThat(read(folder, options -> options.onFailure(skip.afterRetries(2))))
        .containsExactly("0:11 2:10 ", "5:10 ", "6:11 ");
    assertThat(skipped).extracting(LoaderStats.SkippedSample::index).containsExactly(1L, 3L, 4L);
    assertThat(skipped.get(0).reason()).contains("/rows: row 3");
    BatchTransform added = (all, random) -> new Tensor[] {all[0].add(new Scalar(1))};
    assertThat(read(folder, options -> options.onFailure(skip).transform(added)))
        .containsExactly("0:12 2:11 ", "5:11 ", "6:12 ");
  }

  @Test
  void aBatchIsGatheredAgainUntilItsRowsCanBeRead(@TempDir Path folder) throws Exception {
    Path file = RowFiles.write(folder.resolve("rows"), new byte[] {1, 2, 3, 4});
    try (FileDataset files = FileDataset.of(FileColumn.raw(RowLayout.of(DType.UINT8), file));
        DataLoader loader =
            DataLoader.over(files)
                .batchSize(4)
                .onFailure(FailurePolicy.report().afterRetries(Integer.MAX_VALUE))
                .build()) {
      RowFiles.truncate(file, 2);
      try (Batches batches = loader.epoch(0)) {
        Thread.sleep(20); // time for some attempts
        RowFiles.write(file, new byte[] {1, 2, 3, 5});
        assertThat(batches.next().tensor(0).select(0, 3).item_byte()).isEqualTo((byte) 5);
      }
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 2})
  void hooksRunOnTheWorkers(int workers) {
    Set<Integer> started = new ConcurrentSkipListSet<>();
    Set<Integer> stopped = new ConcurrentSkipListSet<>();
    WorkerHooks hooks =
        new WorkerHooks() {
          @Override
          public void start(int worker) {
            started.add(worker);
          }

          @Override
          public void stop(int worker) {
            stopped.add(worker);
          }
        };
    try (TensorDataset data = Rows.dataset(9);
        DataLoader loader =
            DataLoader.over(data).batchSize(3).workers(workers).workerHooks(hooks).build();
        Batches batches = loader.epoch(0)) {
      Rows.assertHolds(batches.next(), 0, 1, 2);
      Rows.assertHolds(batches.next(), 3, 4, 5);
      Rows.assertHolds(batches.next(), 6, 7, 8);
    }
    assertThat(started).isNotEmpty().allMatch(worker -> worker < Math.max(1, workers));
    assertThat(stopped).isEqualTo(started);
  }

  @Test
  void theSlowestBatchIsReported() {
    try (TensorDataset data = Rows.dataset(9);
        DataLoader loader =
            DataLoader.over(data).batchSize(3).transform((all, random) -> all).build()) {
      try (Batches batches = loader.epoch(0)) {
        batches.forEachRemaining(batch -> {});
      }
      assertThat(loader.stats().slowest())
          .hasValueSatisfying(
              slowest -> {
                assertThat(slowest.what()).isEqualTo("batch");
                assertThat(slowest.number()).isBetween(0L, 2L);
              });
    }
  }

  @Test
  void complexColumnsAreRefused() {
    try (TensorDataset data = TensorDataset.of(torch.zeros(2).to(ScalarType.ComplexFloat))) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> DataLoader.over(data).transform((all, random) -> all).build())
          .withMessageContaining("view_as_complex");
    }
  }

  @Test
  void aClosedDatasetIsReported() {
    TensorDataset data = Rows.dataset(3);
    data.close();
    assertThatExceptionOfType(IllegalStateException.class)
        .isThrownBy(() -> DataLoader.over(data).transform((all, random) -> all).build())
        .withMessage("TensorDataset is closed");
  }
}
