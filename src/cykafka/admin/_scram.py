"""SCRAM credentials of users; passwords never show in a repr."""

import enum


class ScramMechanism(enum.Enum):
    """SCRAM mechanism."""

    UNKNOWN = 0
    SCRAM_SHA_256 = 1
    SCRAM_SHA_512 = 2

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, ScramMechanism):
            return NotImplemented
        return bool(self.value < other.value)


class ScramCredentialInfo:
    """A credential without its secret.

    Args:
        mechanism: SCRAM mechanism.
        iterations: Number of hash iterations.
    """

    def __init__(self, mechanism: ScramMechanism, iterations: int) -> None:
        self.mechanism = mechanism
        self.iterations = iterations

    def __repr__(self) -> str:
        return f"ScramCredentialInfo({self.mechanism}, {self.iterations})"


class UserScramCredentialsDescription:
    """The credentials that a user has.

    Args:
        user: User name.
        scram_credential_infos: One for each mechanism.
    """

    def __init__(self, user: str, scram_credential_infos: list[ScramCredentialInfo]) -> None:
        self.user = user
        self.scram_credential_infos = scram_credential_infos

    def __repr__(self) -> str:
        return f"UserScramCredentialsDescription({self.user!r}, {self.scram_credential_infos!r})"


class UserScramCredentialAlteration:
    """Base class of changes to a user's credentials.

    Args:
        user: User name.
    """

    def __init__(self, user: str) -> None:
        self.user = user

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.user!r})"


class UserScramCredentialUpsertion(UserScramCredentialAlteration):
    """Set a credential.

    Args:
        user: User name.
        scram_credential_info: Mechanism and iterations.
        password: The password.
        salt: The salt; a random one if None.
    """

    def __init__(
        self,
        user: str,
        scram_credential_info: ScramCredentialInfo,
        password: bytes,
        salt: bytes | None = None,
    ) -> None:
        super().__init__(user)
        self.scram_credential_info = scram_credential_info
        self.password = password
        self.salt = salt


class UserScramCredentialDeletion(UserScramCredentialAlteration):
    """Delete a credential.

    Args:
        user: User name.
        mechanism: Which one.
    """

    def __init__(self, user: str, mechanism: ScramMechanism) -> None:
        super().__init__(user)
        self.mechanism = mechanism
