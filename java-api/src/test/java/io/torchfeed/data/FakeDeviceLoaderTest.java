// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import io.torchfeed.testing.FakeDevice;
import java.util.function.IntFunction;
import org.junit.jupiter.api.Nested;

/** Tests that both engines keep their contracts when batches are copied to a device. */
class FakeDeviceLoaderTest {
  /** Fewer epochs than elsewhere, since a device of one thread is slow. */
  private static final int MANY_EPOCHS = 1000;

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
  }
}
