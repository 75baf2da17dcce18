// SPDX-License-Identifier: Apache-2.0
import static org.bytedeco.pytorch.global.torch.log_softmax;
import static org.bytedeco.pytorch.global.torch.nll_loss;
import static org.bytedeco.pytorch.global.torch.relu;

import io.torchfeed.Torchfeed;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.data.NativeDataset;
import io.torchfeed.data.source.FileColumn;
import io.torchfeed.data.source.FileDataset;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowTransform;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.order.ShuffledSampler;
import io.torchfeed.training.Progress;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/** Trains a small net on MNIST: {@code Starter FOLDER [STEPS]}, the folder with the idx files. */
public final class Starter {
  private static final RowTransform PIXELS =
      RowTransform.builder()
          .scale(1f / 255f)
          .normalize(new float[] {0.1307f}, new float[] {0.3081f})
          .build();
  private static final RowTransform LABELS = RowTransform.builder().cast(DType.INT64).build();

  private Starter() {}

  private static final class Net extends Module {
    private final LinearImpl hidden = register_module("hidden", new LinearImpl(784, 128));
    private final LinearImpl output = register_module("output", new LinearImpl(128, 10));

    Tensor forward(Tensor images) {
      return log_softmax(output.forward(relu(hidden.forward(images.flatten(1, -1)))), 1);
    }
  }

  /** Trains, and prints the loss of some steps. */
  public static void main(String[] args) {
    Torchfeed.load(); // names the reason if a library is missing, which torch.manual_seed would not
    Path folder = Path.of(args[0]);
    int steps = args.length > 1 ? Integer.parseInt(args[1]) : 900;
    torch.manual_seed(1);
    try (FileDataset files =
            FileDataset.of(
                FileColumn.idx(folder.resolve("train-images-idx3-ubyte")),
                FileColumn.idx(folder.resolve("train-labels-idx1-ubyte")));
        NativeDataset images = files.transform(0, PIXELS);
        NativeDataset samples = images.transform(1, LABELS);
        DataLoader loader =
            DataLoader.over(samples)
                .batchSize(64)
                .workers(1)
                .sampler(ShuffledSampler.of(samples.size(), Part.whole(), 42))
                .build()) {
      train(loader, steps);
    }
  }

  private static void train(DataLoader loader, int steps) {
    Net net = new Net();
    SGD optimizer = new SGD(net.parameters(), new SGDOptions(0.1));
    Progress progress = Progress.over(loader); // to stop and resume, save it as a part of a state
    while (progress.step() < steps) {
      for (Batch batch : progress) { // the rest of an epoch
        long step = progress.step();
        if (step == 1) {
          System.out.printf("first batch after %.2f s%n", secondsSinceStart());
        }
        try (PointerScope scope = new PointerScope()) { // frees the tensors of the step
          optimizer.zero_grad();
          Tensor loss = nll_loss(net.forward(batch.tensor(0)), batch.tensor(1));
          loss.backward();
          optimizer.step();
          if (step == 1 || step % 10 == 0) {
            System.out.printf("step %d loss %.4f%n", step, loss.item_float());
          }
        }
        if (step == steps) {
          break;
        }
      }
    }
  }

  private static double secondsSinceStart() {
    return ManagementFactory.getRuntimeMXBean().getUptime() / 1e3;
  }
}
