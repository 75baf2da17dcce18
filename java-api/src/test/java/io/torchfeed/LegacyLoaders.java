// SPDX-License-Identifier: Apache-2.0
package io.torchfeed;

import static io.torchfeed.LegacyPlans.ROWS;
import static io.torchfeed.LegacyPlans.SEED;

import io.torchfeed.data.Dataset;
import io.torchfeed.data.SampleWriter;
import io.torchfeed.data.StreamDataset;
import io.torchfeed.data.TensorDataset;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.data.loader.DataLoaderBuilder;
import io.torchfeed.data.source.ObjectStreamDataset;
import io.torchfeed.data.source.SampleEncoder;
import io.torchfeed.data.source.TextLines;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import io.torchfeed.sampler.BatchSampler;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.PlanParameters;
import io.torchfeed.sampler.order.FixedSizeBatchSampler;
import io.torchfeed.sampler.order.ShuffledSampler;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/** The loaders and streams of golden/states_9842441.txt by name. */
final class LegacyLoaders {
  private LegacyLoaders() {}

  /** Returns a loader of rows by index. */
  static DataLoader loader(String name, Part part) {
    return switch (name) {
      case "tensors" -> ofTensors(loaded(part), 1, true);
      case "tensors-ready-first" -> ofTensors(loaded(part), 2, false);
      case "tensors-without-workers" -> {
        try (TensorDataset data = tensors()) {
          yield DataLoader.over(data).batchSampler(loaded(part)).workers(0).build();
        }
      }
      case "tensors-in-budget" -> ofTensors(LegacyPlans.batches("token-budget", part), 1, true);
      case "java" -> ofSamples(new Squares(), loaded(part), 2, true);
      case "java-ready-first" -> ofSamples(new Squares(), loaded(part), 2, false);
      case "java-in-whole-batches" ->
          ofSamples(new Squares(), LegacyPlans.batches("whole-batches", part), 1, true);
      default -> throw new IllegalArgumentException(name);
    };
  }

  /** A loader of a stream. */
  static DataLoader stream(String name, Path folder, Part part) {
    return switch (name) {
      case "counters" -> stream(new Counters(PlanParameters.of("stream")), part, 4);
      case "counters-by-3" -> stream(new Counters(PlanParameters.of("stream")), part, 3);
      case "counters-drop-last" ->
          DataLoader.over(new Counters(PlanParameters.of("counters").with("version", 2)))
              .part(part)
              .batchSize(4)
              .workers(2)
              .dropLast(true)
              .seed(SEED)
              .build();
      case "objects-shuffled", "text", "text-shuffled", "text-packed-shuffled" ->
          stream(rows(objects(name, folder)), part, 4);
      default -> throw new IllegalArgumentException(name);
    };
  }

  /** Streams of objects: texts of two numbers. */
  static ObjectStreamDataset<String> objects(String name, Path folder) {
    return switch (name) {
      case "objects-shuffled" -> new Words().shuffled(4, SEED);
      case "text" -> lines(folder, 4, "a.txt", "b.txt");
      case "text-shuffled" -> lines(folder, 4, "a.txt", "b.txt").shuffled(5, SEED);
      case "text-packed-shuffled" ->
          lines(folder, 3, "e.txt.gz", "a.txt", "f.txt.zst").shuffled(6, SEED);
      default -> throw new IllegalArgumentException(name);
    };
  }

  private static BatchSampler loaded(Part part) {
    return FixedSizeBatchSampler.of(ShuffledSampler.of(ROWS, part, SEED), 4);
  }

  private static TensorDataset tensors() {
    long[] firsts = new long[ROWS];
    long[] seconds = new long[ROWS];
    Arrays.setAll(firsts, i -> (long) i * i);
    Arrays.setAll(seconds, i -> -i);
    return TensorDataset.of(Tensor.create(firsts, ROWS), Tensor.create(seconds, ROWS));
  }

  private static DataLoader ofTensors(BatchSampler plan, int workers, boolean inOrder) {
    try (TensorDataset data = tensors()) {
      return described(DataLoader.over(data), plan, workers, inOrder).build();
    }
  }

  private static DataLoader ofSamples(
      Dataset data, BatchSampler plan, int workers, boolean inOrder) {
    return described(DataLoader.over(data), plan, workers, inOrder).seed(SEED).build();
  }

  private static DataLoaderBuilder described(
      DataLoaderBuilder builder, BatchSampler plan, int workers, boolean inOrder) {
    return builder.batchSampler(plan).workers(workers).prefetch(4).inOrder(inOrder);
  }

  private static DataLoader stream(StreamDataset data, Part part, int batchSize) {
    return DataLoader.over(data)
        .part(part)
        .batchSize(batchSize)
        .workers(1)
        .prefetch(3)
        .seed(SEED)
        .build();
  }

  private static StreamDataset rows(ObjectStreamDataset<String> texts) {
    return texts.encode(new Numbers());
  }

  private static ObjectStreamDataset<String> lines(Path folder, int shards, String... names) {
    return TextLines.of(LegacyTexts.paths(folder, names), shards).map(line -> line.text());
  }

  /** Sample i is its square, and a random number. */
  private record Squares() implements Dataset {
    @Override
    public long size() {
      return ROWS;
    }

    @Override
    public List<RowSpec> columns() {
      return List.of(RowSpec.of(DType.INT64), RowSpec.of(DType.INT64));
    }

    @Override
    public void read(long index, SampleWriter sample) {
      sample.putLong(0, index * index);
      sample.putLong(1, Math.floorMod(sample.random().nextLong(), 1000L));
    }
  }

  /** Shard s has the numbers 1000 s, 1000 s + 1 and so on, each with a random number. */
  private record Counters(PlanParameters parameters) implements StreamDataset {
    private static final int[] LENGTHS = {10, 0, 7, 21, 3};

    @Override
    public int shards() {
      return LENGTHS.length;
    }

    @Override
    public List<RowSpec> columns() {
      return List.of(RowSpec.of(DType.INT64), RowSpec.of(DType.INT64));
    }

    @Override
    public StreamDataset.SampleStream open(long epoch, int shard, @Nullable String position) {
      return new StreamDataset.SampleStream() {
        private long next = position == null ? 0 : Long.parseLong(position);

        @Override
        public boolean next(SampleWriter sample) {
          if (next == LENGTHS[shard]) {
            return false;
          }
          sample.putLong(0, shard * 1000L + next++);
          sample.putLong(1, Math.floorMod(sample.random().nextLong(), 1000L));
          return true;
        }

        @Override
        public String position() {
          return Long.toString(next);
        }
      };
    }
  }

  /** Shard s has the texts "s,0", "s,1" and so on. */
  private record Words() implements ObjectStreamDataset<String> {
    private static final int[] LENGTHS = {11, 4, 0, 9};

    @Override
    public int shards() {
      return LENGTHS.length;
    }

    @Override
    public ObjectStreamDataset.ObjectStream<String> open(
        long epoch, int shard, @Nullable String position) {
      return new ObjectStreamDataset.ObjectStream<>() {
        private int next = position == null ? 0 : Integer.parseInt(position);

        @Override
        public @Nullable String next() {
          return next == LENGTHS[shard] ? null : shard + "," + next++;
        }

        @Override
        public String position() {
          return Integer.toString(next);
        }
      };
    }
  }

  /** Writes texts of two numbers. */
  private record Numbers() implements SampleEncoder<String> {
    @Override
    public List<RowSpec> columns() {
      return List.of(RowSpec.of(DType.INT64), RowSpec.of(DType.INT64));
    }

    @Override
    public void write(String text, SampleWriter sample) {
      int comma = text.indexOf(',');
      sample.putLong(0, Long.parseLong(text.substring(0, comma)));
      sample.putLong(1, Long.parseLong(text.substring(comma + 1)));
    }
  }
}
