// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.contract;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.data.RowData;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.data.loader.DataLoaderBuilder;
import io.torchfeed.testing.FakeDevice;
import java.util.function.IntFunction;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

/** Tests that both engines, and streams, keep their contracts when batches go to a device. */
class FakeDeviceLoaderTest {
  /** Fewer epochs than elsewhere, since a device of one thread is slow. */
  private static final int MANY_EPOCHS = 500;

  private static final int MANY_ROUNDS = 70;

  private static IntFunction<RowData> onDevice(IntFunction<RowData> engine) {
    return size -> {
      FakeDevice.load();
      return RowData.on(FakeDevice.NAME, engine.apply(size));
    };
  }

  @Nested
  class NativeLoader extends LoaderContract {
    NativeLoader() {
      super(onDevice(RowData::tensors));
    }
  }

  @Nested
  class JavaLoader extends LoaderContract {
    JavaLoader() {
      super(onDevice(RowData::samples));
    }
  }

  @Nested
  class NativeBatch extends BatchContract {
    NativeBatch() {
      super(onDevice(RowData::tensors));
    }
  }

  @Nested
  class JavaBatch extends BatchContract {
    JavaBatch() {
      super(onDevice(RowData::samples));
    }
  }

  @Nested
  class NativeClose extends LoaderCloseContract {
    NativeClose() {
      super(onDevice(RowData::tensors));
    }

    @Override
    int manyEpochs() {
      return MANY_EPOCHS;
    }

    @Override
    int manyRounds() {
      return MANY_ROUNDS;
    }
  }

  @Nested
  class JavaClose extends LoaderCloseContract {
    JavaClose() {
      super(onDevice(RowData::samples));
    }

    @Override
    int manyEpochs() {
      return MANY_EPOCHS;
    }

    @Override
    int manyRounds() {
      return MANY_ROUNDS;
    }
  }

  @Nested
  class Streams extends StreamLoaderTest {
    @Override
    DataLoaderBuilder over(int batchSize, int workers) {
      FakeDevice.load();
      return super.over(batchSize, workers).device(FakeDevice.NAME);
    }

    @Override
    int manyRounds() {
      return MANY_ROUNDS;
    }

    @Test
    void batchesAreOnTheDevice() {
      try (DataLoader loader = over(4, 2).build();
          Batches batches = loader.epoch(0)) {
        assertThat(batches.next().tensor(0).device().str().getString()).isEqualTo(FakeDevice.NAME);
      }
    }
  }
}
