// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.training;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.testing.RankThreads;
import java.util.function.UnaryOperator;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.BatchNorm1dImpl;
import org.bytedeco.pytorch.BatchNormOptions;
import org.bytedeco.pytorch.EmbeddingImpl;
import org.bytedeco.pytorch.EmbeddingOptions;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.LinearOptions;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests of models that are a single module of the presets, made by any of its constructors. */
@Timeout(60)
class BareModulesTest {
  private static void train(Module net, UnaryOperator<Tensor> forward, Tensor input)
      throws Exception {
    RankThreads.run(
        1,
        group -> {
          try (PointerScope scope = new PointerScope();
              DistributedDataParallel model = DistributedDataParallel.wrap(net, group)) {
            model.backward(forward.apply(input).sum());
            assertThat(model.verifyReplicas()).hasSize(64);
            assertThat(net.parameters().get(0).grad().defined()).isTrue();
          }
        });
  }

  @Test
  void aNormMadeOfOptionsIsTrained() throws Exception {
    BatchNorm1dImpl norm = new BatchNorm1dImpl(new BatchNormOptions(3));
    train(norm, norm::forward, torch.randn(4, 3));
  }

  @Test
  void aLayerMadeOfOptionsIsTrained() throws Exception {
    LinearImpl layer = new LinearImpl(new LinearOptions(3, 2));
    train(layer, layer::forward, torch.randn(4, 3));
  }

  @Test
  void aSparseEmbeddingIsTrained() throws Exception {
    EmbeddingOptions options = new EmbeddingOptions(5, 2);
    options.sparse().put(true);
    EmbeddingImpl table = new EmbeddingImpl(options);
    train(table, table::forward, torch.ones(3).to(torch.ScalarType.Long));
    assertThat(table.weight().grad().is_sparse()).isTrue();
  }
}
