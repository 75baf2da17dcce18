// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFilePermission;
import java.util.EnumSet;
import java.util.Set;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;

/**
 * Hadoop's local file system, with one difference: without its native library, Hadoop starts a
 * process for the permissions of each new file.
 */
public final class PlainFileSystem extends LocalFileSystem {
  /** Created by Hadoop, by the name of the class. */
  public PlainFileSystem() {
    super(new Raw());
  }

  private static final class Raw extends RawLocalFileSystem {
    @Override
    public void setPermission(Path path, FsPermission permission) throws IOException {
      Set<PosixFilePermission> all = EnumSet.noneOf(PosixFilePermission.class);
      PosixFilePermission[] bits = PosixFilePermission.values(); // from the owner's to the others'
      for (int i = 0; i < bits.length; i++) {
        if (((permission.toShort() >> (bits.length - 1 - i)) & 1) == 1) {
          all.add(bits[i]);
        }
      }
      Files.setPosixFilePermissions(pathToFile(path).toPath(), all);
    }
  }
}
