// SPDX-License-Identifier: Apache-2.0
package io.torchfeed;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.data.token.PackedTokens;
import io.torchfeed.data.token.TokenFile;
import io.torchfeed.data.token.TokenWriter;
import io.torchfeed.memory.DType;
import io.torchfeed.sampler.order.ShuffledSampler;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.bytedeco.pytorch.Tensor;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The Java code of FROM_PYTORCH.md on tokens; see {@link GuideTest}. */
class GuideTokensTest {
  private final List<Tensor> seen = new ArrayList<>();

  private void train(Tensor tensor) {
    seen.add(tensor.clone());
  }

  @Test
  void documentsArePacked(@TempDir Path folder) throws IOException {
    Path file = folder.resolve("train.bin");
    TokenWriter.write(file, DType.UINT16, Stream.of(new long[] {1, 2, 3}, new long[] {4, 5}));
    // guide: tokens
    TokenFile tokens = TokenFile.megatron(file); // train.bin, with train.idx beside it
    try (PackedTokens data = tokens.packed(8);
        DataLoader loader =
            DataLoader.over(data)
                .sampler(ShuffledSampler.of(data.size(), 42))
                .batchSize(2)
                .build()) {
      for (Batch batch : loader.epoch(0)) {
        train(batch.tensor("tokens")); // [n, 8], int64, as "positions"
        train(batch.tensor("targets")); // [n, 8], -100 where there is none
        Tensor documents = batch.tensor("documents");
        train(documents.unsqueeze(2).eq(documents.unsqueeze(1)).tril()); // [n, 8, 8]: who sees whom
      }
    }
    // guide: end
    assertThat(seen).hasSize(3);
    Tensor ids = Tensor.create(1L, 2L, 3L, 4L, 5L, 0L, 0L, 0L);
    Tensor targets = Tensor.create(2L, 3L, -100L, 5L, -100L, -100L, -100L, -100L);
    assertThat(seen.get(0).equal(ids.unsqueeze(0))).isTrue();
    assertThat(seen.get(1).equal(targets.unsqueeze(0))).isTrue();
    Tensor visible = seen.get(2).sum(new long[] {2});
    assertThat(visible.equal(Tensor.create(1L, 2L, 3L, 1L, 2L, 1L, 2L, 3L).unsqueeze(0))).isTrue();
  }
}
