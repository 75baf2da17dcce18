// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.testing;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import org.bytedeco.javacpp.Loader;
import org.bytedeco.pytorch.global.torch;

/**
 * The device without hardware of {@code native/test/fake_device.h}: a thread executes the work of
 * its streams in random order, as far as events allow.
 */
public final class FakeDevice {
  /** The name of the first device. */
  public static final String NAME = "privateuseone:0";

  /** The name of the second device. */
  public static final String OTHER = "privateuseone:1";

  private static final Path LIBRARY =
      Path.of(
              System.getProperty(
                  "torchfeed.fake.device", "../native/target/cmake/libtorchfeed_fake_device.so"))
          .toAbsolutePath()
          .normalize();

  private FakeDevice() {}

  /** Registers the device with libtorch, or skips the test if native tests are not built. */
  public static void load() {
    assumeTrue(
        Files.exists(LIBRARY),
        () -> "the fake device is built with the native tests; there is no " + LIBRARY);
    Loader.load(torch.class);
    System.load(LIBRARY.toString()); // no effect the second time
  }
}
