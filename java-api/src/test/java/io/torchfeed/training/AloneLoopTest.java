// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.training;

import java.nio.file.Path;
import org.junit.jupiter.api.io.TempDir;

class AloneLoopTest extends TrainingLoopContract {
  AloneLoopTest(@TempDir Path temporary) {
    super(temporary);
  }

  @Override
  int ranks() {
    return 1;
  }

  @Override
  void onEachRank(Body body) throws Exception {
    body.run(TrainingLoop::alone);
  }
}
