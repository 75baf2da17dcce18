// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.images;

import io.torchfeed.data.Dataset;
import io.torchfeed.data.SampleWriter;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.image.ImagePlan;
import io.torchfeed.memory.RowSpec;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.NoGradGuard;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

/** The command that names the classes of images by a saved net. */
@Command(
    name = "classify",
    description = "Prints the most likely class of each image, and its probability.")
final class Classify implements Callable<Integer> {
  @Mixin private ModelOption model = new ModelOption();
  @Mixin private Loading loading = new Loading();

  @Parameters(
      arity = "1..*",
      paramLabel = "IMAGE",
      description = "JPEG, PNG, WebP, BMP, GIF, PNM or TIFF files.")
  private List<Path> images = List.of();

  /** Files without classes. */
  private record NamedFiles(List<Path> files, ImagePlan plan) implements Dataset {
    @Override
    public long size() {
      return files.size();
    }

    @Override
    public List<RowSpec> columns() {
      return List.of(plan.row());
    }

    @Override
    public void read(long index, SampleWriter sample) {
      sample.putImage(0, files.get((int) index), plan);
    }
  }

  @Override
  @SuppressWarnings("try") // guards and scopes work by being open
  public Integer call() {
    loading.check();
    try (Classifier trained = model.load();
        NoGradGuard guard = new NoGradGuard();
        DataLoader loader =
            DataLoader.over(new NamedFiles(images, Images.testPlan(trained.size())))
                .batchSize(loading.batchSize())
                .workers(loading.workers())
                .build();
        Batches batches = loader.epoch(0)) {
      for (Batch batch : batches) {
        print(trained, batch);
      }
    }
    return 0;
  }

  @SuppressWarnings("try") // a scope works by being open
  private void print(Classifier trained, Batch batch) {
    try (PointerScope scope = new PointerScope()) {
      Tensor shares = torch.softmax(trained.logits(batch.tensor(0)), 1);
      for (int row = 0; row < batch.size(); row++) {
        Tensor own = shares.select(0, row);
        int best = (int) own.argmax().item_long();
        System.out.printf(
            Locale.ROOT,
            "%s: %s, %.0f %%%n",
            images.get((int) batch.indices()[row]),
            trained.classes().get(best),
            100 * own.select(0, best).item_float());
      }
    }
  }
}
