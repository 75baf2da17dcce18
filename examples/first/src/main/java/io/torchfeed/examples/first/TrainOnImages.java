// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.first;

import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.data.source.ImageFolder;
import io.torchfeed.image.ImagePlan;
import io.torchfeed.sampler.order.ShuffledSampler;
import java.io.IOException;
import java.nio.file.Path;
import org.bytedeco.javacpp.LongPointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Adam;
import org.bytedeco.pytorch.AdamOptions;
import org.bytedeco.pytorch.Conv2dImpl;
import org.bytedeco.pytorch.Conv2dOptions;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/** Trains a net on a folder that contains a folder of images for each class. */
final class TrainOnImages {
  public static void main(String[] args) throws IOException {
    Path folder = args.length > 0 ? Path.of(args[0]) : SampleFiles.images();
    ImagePlan plan =
        ImagePlan.builder()
            .randomResizedCrop(32, 32)
            .horizontalFlip(0.5)
            .normalize(ImagePlan.imagenetMean(), ImagePlan.imagenetStd())
            .build();
    try (var images = ImageFolder.open(folder, plan);
        var loader =
            DataLoader.over(images)
                .sampler(ShuffledSampler.of(images.size(), 42))
                .batchSize(16)
                .workers(2) // native threads, which read and decode the files
                .seed(42) // of the crops and flips
                .build()) {
      torch.manual_seed(42); // of the parameters
      Conv2dImpl filters = new Conv2dImpl(new Conv2dOptions(3, 16, new LongPointer(5, 5)));
      LinearImpl head = new LinearImpl(16, images.classes().size());
      var parameters = filters.parameters().push_back(head.weight()).push_back(head.bias());
      Adam optimizer = new Adam(parameters, new AdamOptions(0.02));
      for (int epoch = 0; epoch < 8; epoch++) {
        double sum = 0;
        for (Batch batch : loader.epoch(epoch)) { // other crops and another order in each epoch
          try (var scope = new PointerScope()) { // frees the tensors of this step
            optimizer.zero_grad();
            Tensor features = torch.relu(filters.forward(batch.tensor("image"))).mean(2, 3);
            Tensor loss = torch.cross_entropy(head.forward(features), batch.tensor("label"));
            loss.backward();
            optimizer.step();
            sum += loss.item_float() * batch.size();
          }
        }
        System.out.printf("epoch %d loss %.3f%n", epoch, sum / images.size());
      }
    }
  }
}
