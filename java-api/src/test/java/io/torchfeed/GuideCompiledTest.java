// SPDX-License-Identifier: Apache-2.0
package io.torchfeed;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.compiled.CompiledModel;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.LongOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The Java code of FROM_PYTORCH.md on compiled models; see {@link GuideTest}. */
class GuideCompiledTest {
  private final List<Long> best = new ArrayList<>();

  private void train(Tensor numbers) {
    for (long i = 0; i < numbers.numel(); i++) {
      best.add(numbers.select(0, i).item_long());
    }
  }

  @Test
  void aCompiledModelRuns(@TempDir Path folder) throws IOException {
    Path path = folder.resolve("net.pt2");
    try (InputStream in = getClass().getResourceAsStream("/golden/packages/2.13.pt2")) {
      Files.copy(requireNonNull(in), path);
    }
    Tensor[] images = {
      torch.ones(3, 3),
      torch.zeros(new long[] {3}, new TensorOptions(torch.ScalarType.Long)) // the kinds
    };
    // guide: compiled
    try (CompiledModel model = CompiledModel.open(path);
        PointerScope scope = new PointerScope()) {
      Tensor scores = model.run(images)[0];
      train(scores.argmax(new LongOptional(1), false));
    }
    // guide: end
    assertThat(best).hasSize(3).containsOnly(best.get(0));
  }
}
