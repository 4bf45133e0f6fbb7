"""Compare this package with the tools that its fields trust: see ``differential/driver.py`` for the options.

python tools/differential.py --surface zarr --minutes 10 --seed 7
"""

import sys

from differential.driver import main

sys.exit(main())
