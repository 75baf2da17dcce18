// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.images;

import static io.torchfeed.examples.images.DataFolder.require;

import io.torchfeed.data.NativeDataset;
import io.torchfeed.metric.Accuracy;
import io.torchfeed.metric.Evaluation;
import io.torchfeed.metric.MetricCollection;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** The command that evaluates a saved net on all test images. */
@Command(
    name = "evaluate",
    description = "Prints the accuracy of a net on the images of val, each seen once.")
final class Evaluate implements Callable<Integer> {
  @Mixin private DataFolder data = new DataFolder();
  @Mixin private ModelOption model = new ModelOption();
  @Mixin private Loading loading = new Loading();

  @Override
  public Integer call() throws Exception {
    data.check("val");
    loading.check();
    try (Classifier trained = model.load()) {
      evaluate(trained);
    }
    return 0;
  }

  private void evaluate(Classifier trained) {
    Images images = Images.test(data.path(), trained.size());
    require(
        images.classes().equals(trained.classes()),
        "--data: val has the classes %s, the net in %s %s"
            .formatted(images.classes(), model.path(), trained.classes()));
    Accuracy accuracy = Accuracy.create();
    try (NativeDataset rows = images.open()) {
      Evaluation.of(MetricCollection.of(Map.of("accuracy", accuracy)))
          .run(
              loading.of(rows),
              batch ->
                  accuracy.update(trained.logits(batch.tensor("image")), batch.tensor("label")));
      System.out.printf(
          Locale.ROOT,
          "%d of %d images, %.2f %%%n",
          Math.round(accuracy.compute() * rows.size()),
          rows.size(),
          100 * accuracy.compute());
    }
  }
}
