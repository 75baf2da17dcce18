// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.image;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.torchfeed.data.BatchMix;
import io.torchfeed.data.Dataset;
import io.torchfeed.data.LoaderState;
import io.torchfeed.data.Rows;
import io.torchfeed.data.SampleWriter;
import io.torchfeed.data.TensorDataset;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.data.loader.DataLoaderBuilder;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import io.torchfeed.sampler.order.ShuffledSampler;
import io.torchfeed.testing.FakeDevice;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Tests of steps after the transfer, over both engines and a device. */
class BatchStepTest {
  private static final int SIZE = 10;
  private static final int SIDE = 4;
  private static final int PIXELS = 3 * SIDE * SIDE;

  private final ImageTensorPlan plan =
      ImageTensorPlan.normalize(ImagePlan.imagenetMean(), ImagePlan.imagenetStd())
          .horizontalFlip(0.5)
          .colorJitter(0.4, 0.4, 0.4);
  private final List<AutoCloseable> opened = new ArrayList<>();

  enum Engine {
    NATIVE,
    JAVA,
    NATIVE_TO_DEVICE,
    JAVA_TO_DEVICE
  }

  private static final class Samples implements Dataset {
    @Override
    public long size() {
      return SIZE;
    }

    @Override
    public List<RowSpec> columns() {
      return List.of(RowSpec.of(DType.UINT8, 3, SIDE, SIDE), RowSpec.of(DType.INT64));
    }

    @Override
    public void read(long index, SampleWriter sample) {
      sample.put(0, pixels((int) index));
      sample.putLong(1, index);
    }
  }

  private static byte[] pixels(int index) {
    byte[] pixels = new byte[PIXELS];
    for (int i = 0; i < PIXELS; i++) {
      pixels[i] = (byte) (index * 31 + i * i * 7);
    }
    return pixels;
  }

  private DataLoaderBuilder over(Engine engine) {
    DataLoaderBuilder builder;
    if (engine == Engine.JAVA || engine == Engine.JAVA_TO_DEVICE) {
      builder = DataLoader.over(new Samples());
    } else {
      byte[] all = new byte[SIZE * PIXELS];
      long[] labels = new long[SIZE];
      for (int i = 0; i < SIZE; i++) {
        System.arraycopy(pixels(i), 0, all, i * PIXELS, PIXELS);
        labels[i] = i;
      }
      TensorDataset rows =
          TensorDataset.of(
              TestImages.tensor(all, SIZE, 3, SIDE, SIDE), Tensor.create(labels, SIZE));
      opened.add(rows);
      builder = DataLoader.over(rows);
    }
    if (engine == Engine.NATIVE_TO_DEVICE || engine == Engine.JAVA_TO_DEVICE) {
      FakeDevice.load();
      builder.device(FakeDevice.NAME);
    }
    return builder.sampler(ShuffledSampler.of(SIZE, 5)).batchSize(4).seed(7);
  }

  @AfterEach
  void close() throws Exception {
    for (AutoCloseable resource : opened) {
      resource.close();
    }
  }

  /** The plan on the host, also where batches are on a device. */
  private Tensor[] augmented(Batch batch, long seed) {
    Tensor images = batch.tensor(0).cpu();
    return new Tensor[] {plan.apply(images, seed, batch.epoch(), batch.indices()), batch.tensor(1)};
  }

  private static float[] floats(Tensor tensor) {
    float[] numbers = new float[(int) tensor.numel()];
    try (Tensor here = tensor.cpu()) {
      here.data_ptr_float().get(numbers);
    }
    return numbers;
  }

  private static List<Object> content(Batches batches) {
    List<Object> all = new ArrayList<>();
    for (Batch batch : batches) {
      assertThat(batch.epoch()).isEqualTo(batches.epoch());
      all.add(batch.indices());
      all.add(floats(batch.tensor(0)));
      all.add(Rows.longs(batch.tensor(1)));
    }
    return all;
  }

  /** Returns the results of a program that computes them from the delivered batches itself. */
  private List<Object> expected(long epoch) {
    List<Object> all = new ArrayList<>();
    try (DataLoader loader = over(Engine.JAVA).build();
        Batches batches = loader.epoch(epoch)) {
      for (Batch batch : batches) {
        all.add(batch.indices());
        try (Tensor images = plan.apply(batch.tensor(0), 7, epoch, batch.indices())) {
          all.add(floats(images));
        }
        all.add(Rows.longs(batch.tensor(1)));
      }
    }
    return all;
  }

  @ParameterizedTest
  @EnumSource(Engine.class)
  void aStepGetsSeedEpochAndIndicesAndReplacesTheTensors(Engine engine) {
    try (DataLoader loader = over(engine).workers(2).afterTransfer(this::augmented).build()) {
      for (long epoch = 0; epoch < 3; epoch++) {
        try (Batches batches = loader.epoch(epoch)) {
          assertThat(batches.epoch()).isEqualTo(epoch);
          assertThat(content(batches)).usingRecursiveComparison().isEqualTo(expected(epoch));
        }
      }
    }
  }

  @Test
  void aPlanOfImagesIsAStepOfOneLine() {
    try (DataLoader loader =
            over(Engine.NATIVE).workers(0).afterTransfer(Batch.Step.images(0, plan)).build();
        Batches batches = loader.epoch(1)) {
      assertThat(content(batches)).usingRecursiveComparison().isEqualTo(expected(1));
    }
  }

  @ParameterizedTest
  @EnumSource(Engine.class)
  void aResumedPassGetsTheSameTensors(Engine engine) {
    try (DataLoader loader = over(engine).afterTransfer(this::augmented).build()) {
      LoaderState state;
      try (Batches batches = loader.epoch(2)) {
        batches.next();
        state = batches.state();
      }
      try (Batches rest = loader.resume(state)) {
        List<Object> all = expected(2);
        assertThat(rest.epoch()).isEqualTo(2);
        assertThat(content(rest)).usingRecursiveComparison().isEqualTo(all.subList(3, all.size()));
      }
    }
  }

  @ParameterizedTest
  @EnumSource(Engine.class)
  void aStepThatFailsCostsOneBatch(Engine engine) {
    Batch.Step failing =
        (batch, seed) -> {
          if (batch.number() == 1) {
            throw new IOException("no ink");
          }
          return new Tensor[] {batch.tensor(1)};
        };
    try (DataLoader loader = over(engine).afterTransfer(failing).build()) {
      for (int epoch = 0; epoch < 20; epoch++) { // more often than batches have memory
        try (Batches batches = loader.epoch(epoch)) {
          assertThat(batches.next().number()).isZero();
          assertThatIllegalStateException()
              .isThrownBy(batches::next)
              .withMessageStartingWith("batch 1 of epoch %d could not be computed", epoch)
              .withMessageContaining("no ink")
              .withCauseInstanceOf(IOException.class);
          assertThat(batches.position()).isEqualTo(2);
          assertThat(batches.next().number()).isEqualTo(2);
          assertThat(batches.hasNext()).isFalse();
        }
      }
    }
  }

  @Test
  @SuppressWarnings("NullAway") // a step can be written without null checks
  void aStepMayKeepItsBatchAndMissingTensorsAreNamed() {
    List<Batch> kept = new ArrayList<>();
    List<Batch> given = new ArrayList<>();
    Batch.Step keeping =
        (batch, seed) -> {
          given.add(batch);
          kept.add(batch.keep());
          return batch.number() == 1
              ? new Tensor[] {null}
              : batch.number() == 2 ? null : new Tensor[] {batch.tensor(1)};
        };
    try (DataLoader loader = over(Engine.NATIVE).afterTransfer(keeping).build();
        Batches batches = loader.epoch(0)) {
      Batch first = batches.next();
      assertThat(Rows.longs(first.tensor(0))).isEqualTo(first.indices());
      assertThatIllegalStateException().isThrownBy(() -> given.get(0).tensor(0));
      assertThatIllegalStateException()
          .isThrownBy(batches::next)
          .withMessageEndingWith("the step returned no tensor 0");
      assertThatIllegalStateException()
          .isThrownBy(batches::next)
          .withMessageEndingWith("the step returned null instead of tensors");
      assertThat(Rows.longs(kept.get(0).tensor(1))).isEqualTo(kept.get(0).indices());
    }
    kept.forEach(Batch::close);
  }

  @Test
  void aMixAfterTheTransferDrawsAsOnTheWorker() {
    BatchMix mix = BatchMix.cutMix(1, SIZE);
    List<float[]> labels = new ArrayList<>();
    for (boolean isAfter : new boolean[] {false, true}) {
      DataLoaderBuilder builder = over(Engine.JAVA);
      builder = isAfter ? builder.afterTransfer(Batch.Step.of(mix)) : builder.transform(mix);
      try (DataLoader loader = builder.build();
          Batches batches = loader.epoch(3)) {
        labels.add(floats(batches.next().tensor(1)));
      }
    }
    assertThat(labels.get(1)).isEqualTo(labels.get(0)).hasSize(4 * SIZE);
  }

  @Test
  void stepsFollowOneAnother() {
    Batch.Step chain =
        Batch.Step.of((tensors, random) -> new Tensor[] {tensors[1].add(new Scalar(1))})
            .andThen((batch, seed) -> new Tensor[] {batch.tensor(0).mul(new Scalar(seed))});
    try (DataLoader loader = over(Engine.NATIVE).afterTransfer(chain).build();
        Batches batches = loader.epoch(0)) {
      Batch batch = batches.next();
      assertThat(Rows.longs(batch.tensor(0)))
          .isEqualTo(Arrays.stream(batch.indices()).map(i -> 7 * (i + 1)).toArray());
    }
  }

  @Test
  void aColumnThatDoesNotExistIsNamed() {
    try (DataLoader loader = over(Engine.NATIVE).afterTransfer(Batch.Step.images(5, plan)).build();
        Batches batches = loader.epoch(0)) {
      assertThatIllegalStateException()
          .isThrownBy(batches::next)
          .withCauseInstanceOf(IndexOutOfBoundsException.class);
    }
    assertThatIllegalStateException()
        .isThrownBy(
            () -> over(Engine.JAVA).afterTransfer(this::augmented).afterTransfer(this::augmented));
  }
}
