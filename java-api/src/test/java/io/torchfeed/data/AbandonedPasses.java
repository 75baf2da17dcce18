// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.data.loader.DataLoaderBuilder;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import java.io.IOException;
import java.util.List;
import java.util.function.Supplier;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/**
 * A program that leaves many passes with {@code break}, and prints the largest growth of resident
 * memory and threads meanwhile. It stops with status 1 when they exceed a limit. Arguments: {@code
 * native}, {@code java} or {@code stream}; the number of passes; the bytes per row; the limit in
 * MiB. The long form, after a build, in the folder {@code java-api}:
 *
 * <pre>{@code
 * for kind in native java stream; do
 *   java -Xmx1g -cp $(./current-classes) io.torchfeed.data.AbandonedPasses $kind 10000 150000 2048
 * done
 * }</pre>
 */
final class AbandonedPasses {
  static final int BATCH_SIZE = 64;
  static final int WORKERS = 2;
  private static final int SIZE = 8 * BATCH_SIZE; // more than are loaded ahead
  private static final int MAX_THREADS = 100;

  private AbandonedPasses() {}

  public static void main(String[] args) throws IOException {
    int passes = Integer.parseInt(args[1]);
    int rowBytes = Integer.parseInt(args[2]);
    long limitKib = Long.parseLong(args[3]) << 10;
    try (RowData data = data(args[0], rowBytes);
        DataLoader loader = data.over().batchSize(BATCH_SIZE).workers(WORKERS).build()) {
      long residentAtStart = ProcessStatus.residentKib();
      long threadsAtStart = ProcessStatus.threads();
      long resident = 0;
      long threads = 0;
      int done = 0;
      long start = System.nanoTime();
      while (done < passes && resident <= limitKib && threads <= MAX_THREADS) {
        leave(loader, done++);
        resident = Math.max(resident, ProcessStatus.residentKib() - residentAtStart);
        threads = Math.max(threads, ProcessStatus.threads() - threadsAtStart);
      }
      System.out.printf(
          "%s: %d passes in %d ms: resident memory grew by %d MiB at most, and is now %d MiB more;"
              + " %d more threads at most%n",
          args[0],
          done,
          (System.nanoTime() - start) / 1_000_000,
          resident >> 10,
          (ProcessStatus.residentKib() - residentAtStart) >> 10,
          threads);
      if (done < passes) {
        System.exit(1);
      }
    }
  }

  private static void leave(DataLoader loader, long epoch) {
    for (Batch batch : loader.epoch(epoch)) {
      if (batch.size() == BATCH_SIZE) {
        break;
      }
    }
  }

  private static RowData data(String kind, int rowBytes) {
    return switch (kind) {
      case "native" -> nativeRows(rowBytes);
      case "java" -> opened(() -> DataLoader.over(new Zeros(rowBytes)), () -> {});
      case "stream" -> opened(() -> DataLoader.over(new ZeroStream(rowBytes)), () -> {});
      default ->
          throw new IllegalArgumentException(
              "the kind must be native, java or stream, got " + kind);
    };
  }

  private static RowData nativeRows(int rowBytes) {
    TensorDataset rows = TensorDataset.of(torch.zeros(SIZE, rowBytes / Float.BYTES));
    return opened(() -> DataLoader.over(rows), rows::close);
  }

  private static RowData opened(Supplier<DataLoaderBuilder> builder, Runnable close) {
    return new RowData() {
      @Override
      public DataLoaderBuilder over() {
        return builder.get();
      }

      @Override
      public void close() {
        close.run();
      }
    };
  }

  private static final class Zeros implements Dataset {
    private final byte[] row;

    Zeros(int rowBytes) {
      row = new byte[rowBytes];
    }

    @Override
    public long size() {
      return SIZE;
    }

    @Override
    public List<RowSpec> columns() {
      return List.of(RowSpec.of(DType.UINT8, row.length));
    }

    @Override
    public void read(long index, SampleWriter sample) {
      sample.put(0, row);
    }
  }

  private static final class ZeroStream implements StreamDataset {
    private final byte[] row;

    ZeroStream(int rowBytes) {
      row = new byte[rowBytes];
    }

    @Override
    public int shards() {
      return WORKERS;
    }

    @Override
    public List<RowSpec> columns() {
      return List.of(RowSpec.of(DType.UINT8, row.length));
    }

    @Override
    public SampleStream open(long epoch, int shard, @Nullable String position) {
      return new SampleStream() {
        private int read;

        @Override
        public boolean next(SampleWriter sample) {
          if (read == SIZE) {
            return false;
          }
          read++;
          sample.put(0, row);
          return true;
        }

        @Override
        public String position() {
          return Integer.toString(read);
        }
      };
    }
  }
}
