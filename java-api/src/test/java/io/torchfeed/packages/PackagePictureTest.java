// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.packages;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import org.junit.jupiter.api.Test;

class PackagePictureTest {
  @Test
  void theCommittedPictureShowsThePackagesAndImportsOfToday() throws IOException {
    assertThat(PackagePicture.FILE).as("run java-api/package-graph and commit it").exists();
    assertThat(Files.readString(PackagePicture.FILE))
        .as("%s is out of date; run java-api/package-graph and commit it", PackagePicture.FILE)
        .isEqualTo(PackagePicture.draw());
  }
}
