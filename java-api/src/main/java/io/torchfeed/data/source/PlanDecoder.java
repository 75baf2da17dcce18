// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data.source;

import static java.util.Objects.requireNonNull;

import io.torchfeed.data.SampleWriter;
import io.torchfeed.image.ImagePlan;
import io.torchfeed.memory.RowSpec;
import java.nio.file.Path;

/** The native decoder. */
record PlanDecoder(ImagePlan plan) implements ImageDecoder {
  PlanDecoder {
    requireNonNull(plan, "plan");
  }

  @Override
  public RowSpec row() {
    return plan.row();
  }

  @Override
  public void decode(byte[] encoded, SampleWriter sample, int column) {
    sample.putImage(column, encoded, plan);
  }

  @Override
  public void decode(Path file, SampleWriter sample, int column) {
    sample.putImage(column, file, plan);
  }
}
