// SPDX-License-Identifier: Apache-2.0
package io.torchfeed;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.amp.Autocast;
import io.torchfeed.amp.GradScaler;
import io.torchfeed.data.BatchTransform;
import io.torchfeed.data.Dataset;
import io.torchfeed.data.LoaderState;
import io.torchfeed.data.SampleWriter;
import io.torchfeed.data.StreamDataset;
import io.torchfeed.data.TensorDataset;
import io.torchfeed.data.VariableLength;
import io.torchfeed.data.WorkerHooks;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.distributed.launch.Launcher;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.Sampler;
import io.torchfeed.sampler.order.StridedSampler;
import io.torchfeed.sampler.order.WeightedSampler;
import io.torchfeed.sampler.python.PythonDistributedSampler;
import io.torchfeed.sampler.python.PythonGenerator;
import io.torchfeed.sampler.python.PythonRandomSampler;
import io.torchfeed.sampler.python.WeightedRandomSampler;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.LongStream;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * The Java code of FROM_PYTORCH.md, run on tiny data. The guide repeats the code between {@code
 * guide:} comments.
 */
class GuideTest {
  private static final Pattern JAVA_BLOCK =
      Pattern.compile("<!-- (\\w+) -->\n```java\n(.*?)```", Pattern.DOTALL);
  private static final Pattern REGION =
      Pattern.compile(" *// guide: (?!end)(\\w+)\n(.*?) *// guide: end", Pattern.DOTALL);

  private final List<Long> seen = new ArrayList<>();

  private static Tensor rows(int count) {
    return torch.arange(new Scalar(count), new TensorOptions(ScalarType.Long)).reshape(count, 1);
  }

  private void train(Tensor rows) {
    Tensor numbers = rows.reshape(-1).to(ScalarType.Long);
    for (long i = 0; i < numbers.numel(); i++) {
      seen.add(numbers.select(0, i).item_long());
    }
  }

  @Test
  void everyBlockOfTheGuideIsRunHere() throws IOException {
    Map<String, String> run = new LinkedHashMap<>();
    for (Class<?> type :
        List.of(
            GuideTest.class,
            GuideCompiledTest.class,
            GuideTableTest.class,
            GuideTokensTest.class,
            GuideTrain.class,
            GuideMixed.class)) {
      String source =
          Files.readString(
              Path.of("src", "test", "java", "io", "torchfeed", type.getSimpleName() + ".java"));
      Matcher region = REGION.matcher(source);
      while (region.find()) {
        run.put(region.group(1), region.group(2).stripTrailing().stripIndent() + "\n");
      }
    }
    String guide = Files.readString(Path.of("FROM_PYTORCH.md"));
    Map<String, String> shown = new LinkedHashMap<>();
    Matcher block = JAVA_BLOCK.matcher(guide);
    while (block.find()) {
      shown.put(block.group(1), block.group(2));
    }
    assertThat(guide.split("```java", -1)).hasSize(shown.size() + 1);
    assertThat(shown).containsExactlyInAnyOrderEntriesOf(run);
  }

  @Test
  void theLoaderDeliversWholeBatchesInPythonsOrder() {
    Tensor images = rows(10);
    Tensor labels = rows(10);
    // guide: loader
    try (TensorDataset data = TensorDataset.of(images, labels);
        DataLoader loader =
            DataLoader.over(data)
                .sampler(
                    PythonRandomSampler.of(data.size(), 42)
                        .withGeneratorUse(PythonGenerator.Use.LOADER))
                .batchSize(4)
                .dropLast(true)
                .workers(2)
                .build()) {
      for (long epoch = 0; epoch < 2; epoch++) {
        try (Batches batches = loader.epoch(epoch)) {
          for (Batch batch : batches) {
            train(batch.tensor(0)); // the labels are batch.tensor(1)
          }
        }
      }
    }
    // guide: end
    assertThat(seen).hasSize(16);
    assertThat(seen.subList(0, 8)).doesNotHaveDuplicates();
    assertThat(seen.subList(0, 8)).isNotEqualTo(seen.subList(8, 16));
  }

  @Test
  void aDatasetProducesItsSamples() {
    // guide: dataset
    record Squares(long size) implements Dataset {
      @Override
      public List<RowSpec> columns() {
        return List.of(RowSpec.of(DType.FLOAT32, 2), RowSpec.of(DType.INT64));
      }

      @Override
      public void read(long index, SampleWriter sample) {
        float noise = sample.random().nextFloat(); // a function of seed, epoch and index
        sample.put(0, new float[] {(float) index * index, noise});
        sample.putLong(1, index);
      }
    }

    try (DataLoader loader =
            DataLoader.over(new Squares(10)).seed(42).batchSize(4).workers(2).build();
        Batches batches = loader.epoch(0)) {
      for (Batch batch : batches) {
        train(batch.tensor(1));
      }
    }
    // guide: end
    assertThat(seen).containsExactlyElementsOf(LongStream.range(0, 10).boxed().toList());
  }

  @Test
  void samplesOfDifferentLengthsAreCollated() {
    // guide: collate
    record Sentences(List<long[]> tokens) implements Dataset {
      @Override
      public long size() {
        return tokens.size();
      }

      @Override
      public List<RowSpec> columns() {
        return List.of(RowSpec.of(DType.INT64, 512)); // at most 512 tokens
      }

      @Override
      public List<VariableLength> variableLengths() {
        return List.of(VariableLength.padded(0)); // column 0, with zeros, to the longest
      }

      @Override
      public void read(long index, SampleWriter sample) {
        sample.put(0, tokens.get((int) index));
      }
    }

    BatchTransform collate =
        (tensors, random) -> new Tensor[] {tensors[0].t(), tensors[1]}; // [longest, n], lengths [n]
    Sentences sentences = new Sentences(List.of(new long[] {5, 6, 7}, new long[] {8}));
    try (DataLoader loader = DataLoader.over(sentences).batchSize(2).transform(collate).build();
        Batches batches = loader.epoch(0)) {
      for (Batch batch : batches) {
        train(batch.tensor(0));
        train(batch.tensor(1));
      }
    }
    // guide: end
    assertThat(seen).containsExactly(5L, 8L, 6L, 0L, 7L, 0L, 3L, 1L);
  }

  @Test
  void theEpochIsAnArgument() {
    // guide: distributed
    Sampler sampler = PythonDistributedSampler.of(10, Part.rank(0).of(2)).withSeed(7);
    LongStream third = sampler.indices(2); // set_epoch(2)
    // guide: end
    assertThat(third).hasSize(5).doesNotHaveDuplicates();
    assertThat(sampler.indices(2).toArray()).isNotEqualTo(sampler.indices(0).toArray());
  }

  @Test
  void weightsSelectSamples() {
    // guide: weighted
    double[] weights = {0.1, 0.9, 0.4, 0.7, 3.0, 0.6};
    Sampler python = WeightedRandomSampler.of(weights, 8, 42).withReplacement(true);
    Sampler ofRankZero = StridedSampler.of(WeightedSampler.of(weights, 8, 42), Part.rank(0).of(2));
    // guide: end
    assertThat(python.indices(0)).hasSize(8).allMatch(index -> index < weights.length);
    assertThat(ofRankZero.indices(0)).hasSize(4).allMatch(index -> index < weights.length);
  }

  @Test
  void aStreamIsReadShardByShard() {
    // guide: stream
    record Counters(int shards, long each) implements StreamDataset {
      @Override
      public List<RowSpec> columns() {
        return List.of(RowSpec.of(DType.INT64));
      }

      @Override
      public SampleStream open(long epoch, int shard, @Nullable String position) {
        return new SampleStream() {
          private long next = position == null ? 0 : Long.parseLong(position);

          @Override
          public boolean next(SampleWriter sample) {
            if (next == each) {
              return false;
            }
            sample.putLong(0, shard * each + next++);
            return true;
          }

          @Override
          public String position() {
            return Long.toString(next);
          }
        };
      }
    }

    try (DataLoader loader =
            DataLoader.over(new Counters(4, 5)) // shards 0 and 2: rank 0 of 2
                .part(Part.rank(0).of(2))
                .batchSize(3)
                .workers(2)
                .build();
        Batches batches = loader.epoch(0)) {
      for (Batch batch : batches) {
        train(batch.tensor(0));
      }
    }
    // guide: end
    assertThat(seen).containsExactly(0L, 1L, 2L, 10L, 11L, 12L, 3L, 4L, 13L, 14L);
  }

  @Test
  void batchesArriveOnADevice() {
    Tensor images = rows(10);
    String device = "cpu";
    // guide: device
    try (TensorDataset data = TensorDataset.of(images);
        DataLoader loader =
            DataLoader.over(data).batchSize(4).device(device).build(); // for example cuda:0
        Batches batches = loader.epoch(0)) {
      for (Batch batch : batches) {
        train(batch.tensor(0)); // on the device; the next batch is being copied
      }
    }
    // guide: end
    assertThat(seen).hasSize(10);
  }

  @Test
  @SuppressWarnings("try") // a scope works by being open
  void mixedPrecisionTrains() {
    String device = "cpu";
    LinearImpl net = new LinearImpl(2, 1);
    net.weight().detach().fill_(new Scalar(0.25)); // whose scaled gradients fit into float16
    net.bias().detach().fill_(new Scalar(0.25));
    SGD optimizer = new SGD(net.parameters(), new SGDOptions(0.125));
    Tensor input = torch.ones(4, 2);
    Tensor target = torch.ones(4, 1);
    float before = torch.mse_loss(net.forward(input), target).item_float();
    // guide: amp
    try (GradScaler scaler = GradScaler.create()) {
      for (int step = 0; step < 3; step++) {
        optimizer.zero_grad();
        Tensor loss;
        try (Autocast scope = Autocast.on(device, DType.FLOAT16)) { // for example cuda:0
          loss = torch.mse_loss(net.forward(input), target);
        }
        scaler.scale(loss).backward();
        scaler.step(optimizer);
        scaler.update();
      }
    }
    // guide: end
    assertThat(torch.mse_loss(net.forward(input), target).item_float()).isLessThan(before);
  }

  @Test
  void workersHaveHooks() {
    record Ones(long size) implements Dataset {
      @Override
      public List<RowSpec> columns() {
        return List.of(RowSpec.of(DType.INT64));
      }

      @Override
      public void read(long index, SampleWriter sample) {
        sample.putLong(0, 1);
      }
    }
    Dataset data = new Ones(10);
    // guide: hooks
    List<String> log = new CopyOnWriteArrayList<>();
    WorkerHooks hooks =
        new WorkerHooks() {
          @Override
          public void start(int worker) {
            log.add("start " + worker);
          }

          @Override
          public void stop(int worker) {
            log.add("stop " + worker);
          }
        };
    try (DataLoader loader = DataLoader.over(data).workers(1).workerHooks(hooks).build();
        Batches batches = loader.epoch(0)) {
      batches.stream().forEach(batch -> train(batch.tensor(0)));
    }
    // guide: end
    assertThat(seen).hasSize(10);
    assertThat(log).containsExactly("start 0", "stop 0");
  }

  @Test
  void aPassIsResumed() {
    Tensor images = rows(10);
    try (TensorDataset data = TensorDataset.of(images);
        DataLoader loader =
            DataLoader.over(data).sampler(PythonRandomSampler.of(10, 42)).batchSize(2).build()) {
      // guide: state
      String checkpoint;
      try (Batches batches = loader.epoch(0)) {
        train(batches.next().tensor(0));
        checkpoint = batches.state().toJson();
      }
      try (Batches rest = loader.resume(LoaderState.fromJson(checkpoint))) {
        for (Batch batch : rest) {
          train(batch.tensor(0));
        }
      }
      // guide: end
    }
    assertThat(seen)
        .containsExactlyElementsOf(PythonRandomSampler.of(10, 42).indices(0).boxed().toList());
  }

  @Test
  void ranksTrainTogether() throws InterruptedException {
    // guide: launcher
    Launcher.builder().ranks(2).mainClass(GuideTrain.class).build().run();
    // guide: end
    Launcher.builder().ranks(1).mainClass(GuideTrain.class).arguments("accumulate").build().run();
  }
}
