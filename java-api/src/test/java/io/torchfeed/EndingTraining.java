// SPDX-License-Identifier: Apache-2.0
package io.torchfeed;

import java.util.concurrent.atomic.AtomicBoolean;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * A program that computes in steps until a signal ends it, with the shutdown hook of the README.
 */
public final class EndingTraining {
  private static final long STEP_NANOS = 300_000_000;

  private EndingTraining() {}

  public static void main(String[] args) {
    Thread training = Thread.currentThread();
    AtomicBoolean isEnding = new AtomicBoolean();
    Runtime.getRuntime()
        .addShutdownHook(
            new Thread(
                () -> {
                  isEnding.set(true);
                  try {
                    training.join(60_000);
                  } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                  }
                }));
    try (Tensor image = torch.ones(1, 8, 32, 32);
        Tensor weight = torch.ones(8, 8, 3, 3)) {
      while (!isEnding.get()) {
        System.out.println("begin");
        long start = System.nanoTime();
        while (System.nanoTime() - start < STEP_NANOS) {
          try (PointerScope scope = new PointerScope()) {
            torch.conv2d(image, weight);
          }
        }
        System.out.println("end");
      }
    }
  }
}
