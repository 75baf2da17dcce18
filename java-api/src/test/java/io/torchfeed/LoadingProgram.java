// SPDX-License-Identifier: Apache-2.0
package io.torchfeed;

import io.torchfeed.amp.Autocast;
import io.torchfeed.distributed.Master;
import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import io.torchfeed.memory.Slab;
import io.torchfeed.sampler.torch.RandomSampler;
import java.util.List;

/**
 * A program whose libraries cannot be loaded: prints the error of each call that uses them, in a
 * first and in a second attempt.
 */
final class LoadingProgram {
  private LoadingProgram() {}

  private interface Call {
    Object make() throws Exception;
  }

  public static void main(String[] args) {
    for (int time = 0; time < 2; time++) {
      attempt("cursor", () -> RandomSampler.of(3, 0).epoch(0));
      attempt("slab", () -> Slab.allocate(List.of(RowSpec.of(DType.INT64)), 2));
      attempt("pinned", Slab::pinnedBytes);
      attempt("master", () -> Master.listen("127.0.0.1"));
      attempt("group", ProcessGroup::join);
      attempt("autocast", () -> Autocast.off("cpu"));
      attempt(
          "load",
          () -> {
            Torchfeed.load();
            return "done";
          });
    }
  }

  @SuppressWarnings("CatchingUnchecked") // errors are the subject
  private static void attempt(String name, Call call) {
    try {
      System.out.println(name + ": " + call.make());
    } catch (Exception | LinkageError e) {
      System.out.println(name + ": " + e);
    }
  }
}
