// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.images;

import io.torchfeed.data.NativeDataset;
import io.torchfeed.distributed.GroupOptions;
import io.torchfeed.distributed.Master;
import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.sampler.Part;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** The command that evaluates a saved net on all test images. */
@Command(
    name = "evaluate",
    description = "Prints the accuracy of a net on the images of val, each seen once.")
final class Evaluate implements Callable<Integer> {
  @Mixin private Settings settings = new Settings();

  @Option(
      names = "--model",
      required = true,
      paramLabel = "FILE",
      description = "The file model.pt that train has written.")
  private Path model = Path.of("");

  @Override
  public Integer call() throws Exception {
    settings.check();
    Images images = Images.test(settings.data(), settings.size());
    try (NativeDataset pictures = images.open();
        ResNet net = new ResNet(images.classes().size());
        ProcessGroup alone =
            ProcessGroup.join(
                Master.at("127.0.0.1", 1),
                Part.whole(),
                GroupOptions.ofTimeout(Duration.ofMinutes(1)))) {
      ModelFile.load(net, model);
      Evaluation evaluation = Evaluation.of(net, pictures, alone, settings);
      System.out.printf(
          Locale.ROOT,
          "%d of %d images, %.2f %%%n",
          evaluation.correct(),
          evaluation.pictures(),
          100 * evaluation.accuracy());
    }
    return 0;
  }
}
