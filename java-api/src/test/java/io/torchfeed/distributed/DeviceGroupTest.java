// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.torchfeed.amp.Autocast;
import io.torchfeed.amp.GradScaler;
import io.torchfeed.bindings.torchfeed;
import io.torchfeed.distributed.training.DistributedDataParallel;
import io.torchfeed.memory.DType;
import io.torchfeed.testing.FakeDevice;
import io.torchfeed.testing.RankThreads;
import java.time.Duration;
import java.util.Arrays;
import java.util.Map;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Device;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests of groups with devices; those that need a GPU are skipped without one. */
@Timeout(120)
@SuppressWarnings("try") // a scope works by being open
class DeviceGroupTest {
  private static final Duration LIMIT = Duration.ofSeconds(60);

  /** Returns the name of the first CUDA device, or skips the test. */
  static String cudaDevice() {
    assumeTrue(
        torchfeed.accelerator_count() > 0
            && torchfeed.accelerator_name().getString().equals("cuda"),
        "libtorch sees no CUDA device");
    return "cuda:0";
  }

  private static Tensor on(String device, float... values) {
    return Tensor.create(values, values.length).to(new Device(device), ScalarType.Float);
  }

  private static float[] values(Tensor tensor) {
    float[] values = new float[(int) tensor.numel()];
    tensor.cpu().contiguous().data_ptr_float().get(values);
    return values;
  }

  private static void assumeNoGpu() {
    assumeTrue(
        torchfeed.accelerator_name().getString().equals("none"),
        "this libtorch has an accelerator");
  }

  @Nested
  class WithoutAGpu {
    @Test
    void tensorsOfADeviceGoThroughHostMemory() throws Exception {
      FakeDevice.load();
      RankThreads.run(
          2,
          group -> {
            try (PointerScope scope = new PointerScope()) {
              Tensor tensor = on(FakeDevice.NAME, 1 + group.rank(), 2);
              group.allReduce(tensor, ReduceOp.SUM);
              assertThat(values(tensor)).containsExactly(3, 4);
              group.async().broadcast(tensor, 1).await();
              if (group.rank() == 0) {
                group.send(tensor, 1, 7);
              } else {
                Tensor received = on(FakeDevice.NAME, 0, 0);
                group.recv(received, 0, 7);
                assertThat(values(received)).containsExactly(3, 4);
              }
            }
          });
    }

    @Test
    void aMissingDeviceIsRefusedByAllRanks() throws Exception {
      assumeNoGpu();
      RankThreads.run(
          2,
          group -> {
            assertThatIllegalStateException()
                .isThrownBy(() -> group.subgroup(device("cuda:" + group.rank()), 0, 1))
                .withMessageContaining("this libtorch has no cuda")
                .withMessageContaining("linux-x86_64-gpu");
            assertThatIllegalArgumentException()
                .isThrownBy(() -> group.subgroup(device("cpu"), 0, 1))
                .withMessage("device must be a CUDA device like cuda:0, got 'cpu'");
            group.barrier();
          });
    }

    @Test
    void aRankAloneChecksItsDevice() {
      assumeNoGpu();
      assertThatIllegalStateException()
          .isThrownBy(() -> alone(device("cuda")))
          .withMessageContaining("cuda");
    }
  }

  private static GroupOptions device(String device) {
    return GroupOptions.ofTimeout(LIMIT).withDevice(device);
  }

  private static ProcessGroup alone() {
    return alone(GroupOptions.ofTimeout(LIMIT));
  }

  private static ProcessGroup alone(GroupOptions options) {
    return ProcessGroup.join(Map.of("RANK", "0", "WORLD_SIZE", "1"), options);
  }

  /** A group of one rank that nevertheless sends over NCCL. */
  private static ProcessGroup aloneWithNccl(String device) {
    ProcessGroup group = alone();
    group.useDevice(device, true);
    return group;
  }

  @Nested
  @Tag("gpu")
  class OnAGpu {
    @Test
    void collectivesOverNcclLeaveTheValuesOfOneRank() {
      String device = cudaDevice();
      try (ProcessGroup group = aloneWithNccl(device)) {
        Tensor tensor = on(device, 1, 2);
        for (ReduceOp op :
            new ReduceOp[] {
              ReduceOp.SUM, ReduceOp.MEAN, ReduceOp.PRODUCT, ReduceOp.MIN, ReduceOp.MAX
            }) {
          group.allReduce(tensor, op);
          group.reduce(tensor, op, 0);
        }
        group.broadcast(tensor, 0);
        group.async().allReduce(tensor, ReduceOp.SUM).await();
        assertThat(values(tensor)).containsExactly(1, 2);
        assertThat(values(group.allGather(tensor)[0])).containsExactly(1, 2);
        assertThat(values(group.gather(tensor, 0)[0])).containsExactly(1, 2);
        Tensor output = on(device, 0, 0);
        group.allGatherIntoTensor(output, tensor);
        assertThat(values(output)).containsExactly(1, 2);
        output.zero_();
        group.reduceScatterTensor(output, tensor, ReduceOp.SUM);
        assertThat(values(output)).containsExactly(1, 2);
        output.zero_();
        group.scatter(output, new Tensor[] {tensor}, 0);
        assertThat(values(output)).containsExactly(1, 2);
        output.zero_();
        group.allToAllSingle(output, tensor);
        assertThat(values(output)).containsExactly(1, 2);
        group.barrier();
      }
    }

    @Test
    void aModelTrainsOverNcclAsOnTheCpu() {
      String device = cudaDevice();
      try (ProcessGroup group = aloneWithNccl(device)) {
        TestRank.Net net = new TestRank.Net(1, 16);
        TestRank.Net expected = new TestRank.Net(1, 16);
        net.to(new Device(device), false);
        SGD sgd = new SGD(net.parameters(), new SGDOptions(0.1));
        SGD expectedSgd = new SGD(expected.parameters(), new SGDOptions(0.1));
        try (var model = DistributedDataParallel.wrap(net, group)) {
          for (int step = 0; step < 5; step++) {
            Tensor rows = TestRank.rows(8 * step, 8);
            sgd.zero_grad();
            model.backward(net.loss(rows.to(new Device(device), ScalarType.Float)));
            sgd.step();
            expectedSgd.zero_grad();
            expected.loss(rows).backward();
            expectedSgd.step();
          }
          assertThat(model.stats().reductions()).isEqualTo(5);
          assertThat(model.stats().buckets()).isNotEmpty();
        }
        assertThat(
                torch.allclose(
                    expected.first.weight(), net.first.weight().cpu(), 1e-4, 1e-5, false))
            .isTrue();
      }
    }

    @Test
    void anAbortedGroupRefusesTensorsOfTheDevice() {
      String device = cudaDevice();
      try (ProcessGroup group = aloneWithNccl(device)) {
        Tensor tensor = on(device, 1, 2);
        group.allReduce(tensor, ReduceOp.SUM);
        group.abort();
        assertThatIllegalStateException()
            .isThrownBy(() -> group.allReduce(tensor, ReduceOp.SUM))
            .withMessageContaining("ProcessGroup was aborted");
        assertThat(values(tensor)).containsExactly(1, 2); // the device still works
      }
    }

    @Test
    void twoRanksExchangeTensorsOfOneGpuThroughHostMemory() throws Exception {
      String device = cudaDevice();
      RankThreads.run(
          2,
          group -> {
            try (PointerScope scope = new PointerScope()) {
              Tensor tensor = on(device, 1 + group.rank(), 2);
              group.allReduce(tensor, ReduceOp.MEAN);
              assertThat(values(tensor)).containsExactly(1.5f, 2);
            }
          });
    }

    @Test
    void trainingInMixedPrecisionReducesTheLoss() {
      String device = cudaDevice();
      for (DType dtype : new DType[] {DType.FLOAT16, DType.BFLOAT16}) {
        TestRank.Net net = new TestRank.Net(1, 16);
        net.to(new Device(device), false);
        SGD sgd = new SGD(net.parameters(), new SGDOptions(0.1));
        Tensor rows = TestRank.rows(0, 32).to(new Device(device), ScalarType.Float);
        float[] losses = new float[20];
        try (ProcessGroup group = aloneWithNccl(device);
            var model = DistributedDataParallel.wrap(net, group);
            GradScaler scaler = GradScaler.create()) {
          for (int step = 0; step < losses.length; step++) {
            sgd.zero_grad();
            Tensor loss;
            try (Autocast scope = Autocast.on(device, dtype)) {
              assertThat(net.forward(rows).scalar_type().intern()).isEqualTo(dtype.scalarType());
              loss = net.loss(rows);
            }
            losses[step] = loss.item_float();
            model.backward(scaler.scale(loss));
            scaler.step(sgd);
            scaler.update();
          }
        }
        assertThat(losses[losses.length - 1]).as(Arrays.toString(losses)).isLessThan(losses[0]);
      }
    }
  }
}
