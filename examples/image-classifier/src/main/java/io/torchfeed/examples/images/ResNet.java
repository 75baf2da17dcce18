// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.images;

import static org.bytedeco.pytorch.global.torch.relu;

import java.util.ArrayList;
import java.util.List;
import org.bytedeco.javacpp.LongPointer;
import org.bytedeco.pytorch.BatchNorm2dImpl;
import org.bytedeco.pytorch.BatchNormOptions;
import org.bytedeco.pytorch.Conv2dImpl;
import org.bytedeco.pytorch.Conv2dOptions;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/** A residual net of eight blocks, two of each width, with 1.6 million parameters. */
final class ResNet extends Module {
  private static final int[] WIDTHS = {24, 48, 96, 192};
  private static final int BLOCKS = 2;

  private final Conv2dImpl stem;
  private final BatchNorm2dImpl norm;
  private final List<Block> blocks = new ArrayList<>();
  private final LinearImpl head;

  /** Draws the parameters from libtorch's global generator; seed it first. */
  ResNet(int classes) {
    stem = register_module("stem", convolution(3, WIDTHS[0], 3, 2));
    norm = register_module("norm", new BatchNorm2dImpl(new BatchNormOptions(WIDTHS[0])));
    int from = WIDTHS[0];
    for (int width : WIDTHS) {
      for (int i = 0; i < BLOCKS; i++) {
        blocks.add(
            register_module("block" + blocks.size(), new Block(from, width, i == 0 ? 2 : 1)));
        from = width;
      }
    }
    head = register_module("head", new LinearImpl(from, classes));
  }

  /**
   * Returns logits.
   *
   * @param images float32 [B, 3, H, W]
   * @return float32 [B, classes]; the caller's pointer scope owns it
   */
  Tensor forward(Tensor images) {
    Tensor x = relu(norm.forward(stem.forward(images)));
    for (Block block : blocks) {
      x = block.forward(x);
    }
    return head.forward(x.mean(2, 3));
  }

  private static Conv2dImpl convolution(int from, int to, int kernel, int stride) {
    Conv2dOptions options = new Conv2dOptions(from, to, new LongPointer(kernel, kernel));
    options.stride().put(new LongPointer(stride, stride));
    options.padding().put(new LongPointer(kernel / 2, kernel / 2));
    options.bias().put(false);
    return new Conv2dImpl(options);
  }

  /** Two convolutions beside a shortcut. */
  private static final class Block extends Module {
    private final Conv2dImpl conv1;
    private final BatchNorm2dImpl norm1;
    private final Conv2dImpl conv2;
    private final BatchNorm2dImpl norm2;
    private final @Nullable Conv2dImpl shortcut;

    Block(int from, int to, int stride) {
      conv1 = register_module("conv1", convolution(from, to, 3, stride));
      norm1 = register_module("norm1", new BatchNorm2dImpl(new BatchNormOptions(to)));
      conv2 = register_module("conv2", convolution(to, to, 3, 1));
      norm2 = register_module("norm2", new BatchNorm2dImpl(new BatchNormOptions(to)));
      shortcut =
          stride == 1 && from == to
              ? null
              : register_module("shortcut", convolution(from, to, 1, stride));
    }

    Tensor forward(Tensor x) {
      Tensor y = relu(norm1.forward(conv1.forward(x)));
      y = norm2.forward(conv2.forward(y));
      return relu(y.add(shortcut == null ? x : shortcut.forward(x)));
    }
  }
}
