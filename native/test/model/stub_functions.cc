// SPDX-License-Identifier: Apache-2.0
// Functions that a runner looks up and that no test calls: without the header that declares them.

extern "C" {
void AOTInductorModelContainerUpdateUserManagedConstantBuffer() {}
void AOTInductorModelContainerUpdateConstantBuffer() {}
void AOTInductorModelContainerUpdateInactiveConstantBuffer() {}
void AOTInductorModelContainerRunConstantFolding() {}
void AOTInductorModelContainerSwapConstantBuffer() {}
void AOTInductorModelContainerFreeInactiveConstantBuffer() {}
void AOTInductorModelContainerGetCallSpec() {}
void AOTInductorModelContainerGetConstantsBlobSize() {}
void AOTInductorModelUpdateConstantsFromBlob() {}
}
